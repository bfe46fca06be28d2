#include "cli/size_text.h"

#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace msprobe {

std::optional<std::uint64_t> ParseSize(std::string_view text) {
  const auto digits = text.find_first_not_of("0123456789.");
  const auto number = ParseDouble(text.substr(0, digits));
  std::string unit = digits == std::string_view::npos ? "" : ToLowerAscii(Trim(text.substr(digits)));
  if (unit.ends_with("ib")) {
    unit.resize(unit.size() - 2);
  } else if (unit.ends_with("b")) {
    unit.resize(unit.size() - 1);
  }
  double factor = 1.0;
  if (unit == "k") {
    factor = 0x1p10;
  } else if (unit == "m") {
    factor = 0x1p20;
  } else if (unit == "g") {
    factor = 0x1p30;
  } else if (unit == "t") {
    factor = 0x1p40;
  } else if (!unit.empty()) {
    return std::nullopt;
  }
  if (!number || !(*number * factor >= 1.0) || !(*number * factor < 0x1p62)) return std::nullopt;
  return static_cast<std::uint64_t>(*number * factor);
}

std::string SizeText(std::uint64_t bytes) {
  char text[32] = {};
  if (bytes >= 1ULL << 30U) {
    std::snprintf(text, sizeof(text), "%.1f GiB", static_cast<double>(bytes) / 0x1p30);
  } else {
    std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / 0x1p20);
  }
  return text;
}

}  // namespace msprobe
