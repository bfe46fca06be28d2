#pragma once

#include <cstddef>
#include <string>

namespace msprobe {

/// "1 API", "3 APIs".
inline std::string CountText(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace msprobe
