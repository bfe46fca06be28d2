#include "config/support_list.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "config/defaults.h"
#include "config/yaml_document.h"

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 4> kCheckerCategories = {"functional", "tensor", "torch", "torch_npu"};

}  // namespace

bool SupportList::Contains(std::string_view category, std::string_view name) const {
  const auto names = categories.find(category);
  return names != categories.end() &&
         std::find(names->second.begin(), names->second.end(), name) != names->second.end();
}

Result<SupportList> LoadPyTorchSupportList(const std::string& path) {
  const Result<YamlDocument> document =
      LoadYaml(path, kDefaultPyTorchSupportYaml, "the built-in support_wrap_ops.yaml");
  if (!document.ok()) return document.error();
  SupportList list;
  for (const auto& [category, node] : document->entries) {
    Result<std::vector<std::string>> names = document->TextList(category, node);
    if (!names.ok()) return names.error();
    std::vector<std::string> kept;
    std::unordered_set<std::string> seen;
    for (std::string& name : *names) {
      if (name.empty()) return document->Bad(category, node, "holds an empty name");
      if (seen.insert(name).second) kept.push_back(std::move(name));
    }
    list.categories[category] = std::move(kept);
  }
  return list;
}

bool IsKnownCheckerName(const SupportList& list, std::string_view name) {
  return std::any_of(kCheckerCategories.begin(), kCheckerCategories.end(),
                     [&](std::string_view category) { return list.Contains(category, name); });
}

std::string NearestCheckerName(const SupportList& list, std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (IsKnownCheckerName(list, name.substr(dot + 1))) return std::string(name.substr(dot + 1));
  }
  std::vector<std::string> known;
  for (const std::string_view category : kCheckerCategories) {
    const auto names = list.categories.find(category);
    if (names != list.categories.end()) known.insert(known.end(), names->second.begin(), names->second.end());
  }
  return Nearest(name, known);
}

}  // namespace msprobe
