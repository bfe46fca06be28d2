#include "config/ignore_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/defaults.h"
#include "config/yaml_document.h"

namespace msprobe {
namespace {

constexpr const char* kForm = "must be a list of positions and keywords, or all";

Result<IgnoredParts> ReadParts(const YamlDocument& document, const std::string& place, const YAML::Node& node) {
  IgnoredParts parts;
  if (node.IsNull()) return parts;
  if (node.IsScalar()) {
    if (node.Scalar() != "all") return document.Bad(place, node, kForm);
    parts.all = true;
    return parts;
  }
  if (!node.IsSequence()) return document.Bad(place, node, kForm);
  for (const YAML::Node& item : node) {
    if (!item.IsScalar() || item.Scalar().empty()) return document.Bad(place, item, kForm);
    const std::string& text = item.Scalar();
    const std::optional<std::int64_t> position = ParseInteger(text);
    if (position && *position < 0) return document.Bad(place, item, "holds a position below 0");
    if (position) {
      parts.positions.push_back(*position);
    } else {
      parts.keywords.push_back(text);
    }
  }
  return parts;
}

Result<IgnoreRule> ReadRule(const YamlDocument& document, const std::string& api, const YAML::Node& node) {
  IgnoreRule rule;
  if (!node.IsMap()) return document.Bad(api, node, "must hold \"input\" or \"output\"");
  for (const auto& entry : node) {
    const std::string side = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
    if (side != "input" && side != "output") {
      return document.Bad(api, entry.first,
                          fmt::format("holds \"{}\"; it must be \"input\" or \"output\"", Excerpt(side, 40)));
    }
    Result<IgnoredParts> parts = ReadParts(document, api + "." + side, entry.second);
    if (!parts.ok()) return parts.error();
    (side == "input" ? rule.input : rule.output) = std::move(*parts);
  }
  return rule;
}

}  // namespace

bool IgnoredParts::Has(std::int64_t position) const {
  return all || std::find(positions.begin(), positions.end(), position) != positions.end();
}

bool IgnoredParts::Has(std::string_view keyword) const {
  return all || std::find(keywords.begin(), keywords.end(), keyword) != keywords.end();
}

Result<IgnoreRules> IgnoreRules::Load(const std::string& path) {
  const Result<YamlDocument> document = LoadYaml(path, kDefaultIgnoreYaml, "the built-in builtin_ignore_ops.yaml");
  if (!document.ok()) return document.error();
  IgnoreRules rules;
  for (const auto& [group, apis] : document->entries) {
    if (apis.IsNull()) continue;
    if (!apis.IsMap()) return document->Bad(group, apis, "must hold names of APIs");
    for (const auto& entry : apis) {
      if (!entry.first.IsScalar()) return document->Bad(group, entry.first, "holds a key that is not a name");
      const std::string api = group + "." + entry.first.Scalar();
      Result<IgnoreRule> rule = ReadRule(*document, api, entry.second);
      if (!rule.ok()) return rule.error();
      rules.rules_[api] = std::move(*rule);
    }
  }
  return rules;
}

const IgnoreRule* IgnoreRules::Find(std::string_view api) const {
  const auto rule = rules_.find(api);
  return rule == rules_.end() ? nullptr : &rule->second;
}

}  // namespace msprobe
