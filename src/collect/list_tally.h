#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/seen_names.h"

namespace msprobe {

/// What the filters did, for the user: one line each.
struct FilterReport {
  std::vector<std::string> warnings;  ///< what matched nothing, with the nearest names that occurred
  std::vector<std::string> infos;     ///< what each element matched
};

/// Counts which records each element of a `list` matched. Memory depends on the number of elements only.
class ListTally {
 public:
  /// `key`: the configuration's name of the list, for the lines.
  ListTally(const char* key, std::size_t element_count)
      : key_(key), counts_(element_count), unmatched_(element_count) {}

  /// A record that the elements match; `kept` is false outside the scope.
  void Count(const std::vector<std::size_t>& elements, std::string_view record_name, bool kept);
  /// Whether some element has matched nothing so far.
  bool has_unmatched() const { return unmatched_ != 0; }

  void Report(const std::vector<std::string>& elements, const SeenNames& seen, FilterReport& report) const;

 private:
  struct Counts {
    std::uint64_t matched = 0;
    std::uint64_t kept = 0;
    std::vector<std::pair<std::string, std::uint64_t>> names;  ///< the first different ones, without numbers
    std::uint64_t of_other_names = 0;
  };
  const char* key_;
  std::vector<Counts> counts_;
  std::size_t unmatched_;
};

}  // namespace msprobe
