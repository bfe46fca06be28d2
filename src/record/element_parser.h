#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/element.h"

namespace msprobe {

/// Builds elements from JSON text without recursion. Keeps its working memory, so one parser is used for many records.
class ElementParser {
 public:
  Result<Element> ParseElement(std::string_view text);

  /// `text` is the sections object of the record `name`.
  Result<Record> ParseRecord(std::string name, std::string_view text);

 private:
  struct Container {
    bool is_object;
    std::size_t first_child;  // index into slots_; the container's own slot lies before it
  };

  /// Leaves the value in slots_[0]; with `raw_root` the outermost object stays an object whatever its keys. An empty
  /// text if all is well, else what is wrong.
  std::string Parse(std::string_view text, bool raw_root);
  Element Close(const Container& container, bool raw);

  std::vector<Member> slots_;  // values in the making, depth first; keys empty in lists
  std::vector<Container> open_;
};

}  // namespace msprobe
