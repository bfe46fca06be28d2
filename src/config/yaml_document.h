#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// A YAML file whose root is a mapping from texts, in file order; an empty file is an empty mapping. The library's
/// exceptions end here: errors name file and line.
struct YamlDocument {
  std::string source;
  std::vector<std::pair<std::string, YAML::Node>> entries;

  /// `<file>, line <n>: "key" <problem>`.
  Error Bad(std::string_view key, const YAML::Node& node, const std::string& problem) const;

  /// A list of plain or quoted texts; null is the empty list.
  Result<std::vector<std::string>> TextList(std::string_view key, const YAML::Node& node) const;
};

Result<YamlDocument> ParseYaml(std::string_view text, const std::string& source);

/// The file at `path` after the checks of an input file (.yaml or .yml), or `otherwise` if `path` is empty.
Result<YamlDocument> LoadYaml(const std::string& path, std::string_view otherwise, const std::string& otherwise_name);

}  // namespace msprobe
