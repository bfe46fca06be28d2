#include "config/custom_ops.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/defaults.h"
#include "config/yaml_document.h"

namespace msprobe {
namespace {

constexpr std::size_t kLongestPath = 256;
constexpr std::size_t kLongestName = 128;

bool IsIdentifier(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

bool IsModulePath(std::string_view text) {
  if (text.size() > kLongestPath) return false;
  const std::vector<std::string_view> parts = Split(text, '.');
  return std::all_of(parts.begin(), parts.end(), IsIdentifier);
}

}  // namespace

Result<CustomOps> LoadCustomOps(const std::string& path) {
  const Result<YamlDocument> document = LoadYaml(path, kDefaultCustomOpsYaml, "the built-in custom_wrap_ops.yaml");
  if (!document.ok()) return document.error();
  CustomOps ops;
  for (const auto& [module, node] : document->entries) {
    Result<std::vector<std::string>> names = document->TextList(module, node);
    if (!names.ok()) return names.error();
    if (!IsModulePath(module)) {
      ops.warnings.push_back(document->Bad(module, node, "is left out: it is not the path of a module").message);
      continue;
    }
    CustomModule kept{module, {}};
    std::unordered_set<std::string> seen;
    for (std::string& name : *names) {
      if (name.size() > kLongestName || !IsIdentifier(name)) {
        ops.warnings.push_back(
            document
                ->Bad(
                    module, node,
                    fmt::format("holds \"{}\", which is left out: it is not the name of a function", Excerpt(name, 80)))
                .message);
      } else if (seen.insert(name).second) {
        kept.functions.push_back(std::move(name));
      }
    }
    if (!kept.functions.empty()) ops.modules.push_back(std::move(kept));
  }
  return ops;
}

}  // namespace msprobe
