#include "config/record_name.h"

namespace msprobe {
namespace {

constexpr std::string_view kParameterGradients = "parameters_grad";

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsDirection(std::string_view text) { return text == "forward" || text == "backward"; }

// Takes the part behind the last dot off `text`.
std::string_view TakeLast(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = text.substr(dot + 1);
  text = text.substr(0, dot);
  return last;
}

}  // namespace

NameParts ParseNameParts(std::string_view name) {
  NameParts parts;
  parts.stem = name;
  const std::string_view last = TakeLast(parts.stem);
  const std::string_view before_last = TakeLast(parts.stem);
  const std::size_t dot = parts.stem.find('.');
  const std::string_view group = parts.stem.substr(0, dot);
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == parts.stem.size()) return {};
  parts.api = parts.stem.substr(dot + 1);
  if (group == "Module" || group == "Cell") {
    if (!IsNumber(last)) return {};
    if (IsDirection(before_last)) {
      parts.kind = NameKind::kModule;
    } else if (before_last == kParameterGradients) {
      parts.kind = NameKind::kParameterGradients;
    } else {
      return {};
    }
    parts.number = last;
    parts.direction = before_last;
    return parts;
  }
  if (!IsDirection(last) || !IsNumber(before_last)) return {};
  parts.kind = NameKind::kApi;
  parts.number = before_last;
  parts.direction = last;
  return parts;
}

std::string_view NameParts::module_path() const {
  if (kind == NameKind::kApi || kind == NameKind::kNeither) return {};
  const std::size_t dot = api.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : api.substr(0, dot);
}

std::string_view NameParts::module_class() const {
  if (kind == NameKind::kApi || kind == NameKind::kNeither) return {};
  return api.substr(api.rfind('.') + 1);  // the whole text where there is no dot
}

}  // namespace msprobe
