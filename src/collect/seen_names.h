#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_hash.h"

namespace msprobe {

/// Which APIs and modules occurred, without numbers, to suggest names with. Memory is bounded: only the first
/// kMostNames different ones are kept.
class SeenNames {
 public:
  static constexpr std::size_t kMostNames = 4096;

  void Add(std::string_view record_name);
  bool empty() const { return order_.empty(); }

  /// What to say after "matched nothing": the numbers that occurred if only the number or direction of `wanted` (a
  /// record name, a part of one, or the text of a list element without its mark) is wrong, else the nearest names, else
  /// examples of what occurred.
  std::string Suggestion(std::string_view wanted) const;
  /// Examples of what occurred.
  std::string Examples() const;

 private:
  struct Seen {
    std::uint64_t highest_number = 0;
    bool forward = false;
    bool backward = false;
  };
  TextMap<Seen> names_;
  std::vector<std::string_view> order_;  ///< views of the keys, in order of appearance
};

}  // namespace msprobe
