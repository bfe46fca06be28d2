#include "compare/api_name.h"

#include <vector>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<RowName> ParseRowName(std::string_view text) {
  if (text.size() > kMaxNameBytes) return std::nullopt;
  const std::vector<std::string_view> parts = Split(text, '.');
  // Taken apart from the right: the API's own name may hold dots and the words forward and backward.
  if (parts.size() < 6) return std::nullopt;
  const std::string_view direction = parts[parts.size() - 3];
  const std::string_view number = parts[parts.size() - 4];
  if ((direction != "forward" && direction != "backward") || !IsNumber(number)) return std::nullopt;
  for (const std::string_view part : parts) {
    if (part.empty()) return std::nullopt;
  }
  RowName name;
  name.full_name = text.substr(0, static_cast<std::size_t>(direction.data() - text.data()) - 1);
  const std::size_t start = parts.front().size() + 1;
  name.api = text.substr(start, static_cast<std::size_t>(number.data() - text.data()) - 1 - start);
  name.backward = direction == "backward";
  return name;
}

}  // namespace msprobe
