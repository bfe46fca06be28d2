#pragma once

#include <optional>
#include <string_view>

namespace msprobe {

/// Parts of the name of a details row, `T.a.n.dir.io.idx` or with dots in the API name (precision_standards.md 3):
/// views into the text that was parsed.
struct RowName {
  std::string_view full_name;  ///< `T.a.n`: the API call
  std::string_view api;        ///< `a`
  bool backward = false;
};

/// Nothing if the text is no such name.
std::optional<RowName> ParseRowName(std::string_view text);

}  // namespace msprobe
