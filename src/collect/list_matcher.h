#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text_hash.h"

namespace re2 {
class RE2;
}

namespace msprobe {

/// Finds the elements of a `list` that match a record name. An element is
///   `relu`       a part of the name, as in the reference tool
///   `=relu`      the whole name, or exactly the API or module in it: "Functional.relu.3.forward" is matched by itself,
///                by "Functional.relu.3", "Functional.relu" and "relu"; "Module.block.fc1.Linear.forward.0" by itself,
///                by "Module.block.fc1.Linear", "block.fc1.Linear", "block.fc1" and "Linear"
///   `re:rel.*`   a regular expression (RE2 syntax) found anywhere in the name, evaluated in linear time
class ListMatcher {
 public:
  /// Names the first element that cannot be used: an expression that is wrong or too large, "=" or "re:" alone.
  static Status Check(const std::vector<std::string>& elements);

  /// Elements that Check refuses match nothing.
  explicit ListMatcher(const std::vector<std::string>& elements);
  ~ListMatcher();
  ListMatcher(const ListMatcher&) = delete;
  ListMatcher& operator=(const ListMatcher&) = delete;

  bool empty() const { return elements_.empty(); }
  const std::vector<std::string>& elements() const { return elements_; }

  /// Indices of the elements that match, in no particular order; valid until the next call.
  const std::vector<std::size_t>& Find(std::string_view record_name);

 private:
  struct Expression {
    std::size_t element;
    std::unique_ptr<re2::RE2> compiled;
  };
  void FindExact(std::string_view text);

  std::vector<std::string> elements_;
  std::vector<std::size_t> parts_;  ///< plain elements
  TextMap<std::vector<std::size_t>> exact_;
  std::vector<Expression> expressions_;
  std::vector<std::size_t> found_;
};

}  // namespace msprobe
