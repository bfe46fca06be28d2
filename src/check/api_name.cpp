#include "check/api_name.h"

#include <algorithm>

#include "base/text.h"

namespace msprobe {

std::optional<ApiName> ParseApiName(std::string_view full_name) {
  const auto segments = Split(full_name, '.');
  if (segments.size() < 3) return std::nullopt;
  if (std::any_of(segments.begin(), segments.end(), [](std::string_view s) { return s.empty(); })) return std::nullopt;
  const std::string_view type = segments.front();
  const std::string_view number = segments.back();
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::string_view name = full_name.substr(type.size() + 1, full_name.size() - type.size() - number.size() - 2);
  return ApiName{std::string(type), std::string(name), std::string(number)};
}

RecordName ParseRecordName(std::string_view key) {
  const std::string_view first = key.substr(0, key.find('.'));
  if (first == "Module" || first == "Cell") return {RecordKind::kIgnored, {}};
  const auto dot = key.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = key.substr(dot + 1);
  if (last == "forward") return {RecordKind::kForward, key.substr(0, dot)};
  if (last == "backward") return {RecordKind::kBackward, key.substr(0, dot)};
  const auto segments = Split(key, '.');
  if (std::find(segments.begin(), segments.end(), "parameters_grad") != segments.end()) {
    return {RecordKind::kIgnored, {}};
  }
  return {};
}

}  // namespace msprobe
