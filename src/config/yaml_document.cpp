#include "config/yaml_document.h"

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMostYamlBytes = 16U << 20U;

}  // namespace

Error YamlDocument::Bad(std::string_view key, const YAML::Node& node, const std::string& problem) const {
  return {ErrorCode::kInput,
          fmt::format("{}, line {}: \"{}\" {}", Printable(source), node.Mark().line + 1, Excerpt(key, 80), problem)};
}

Result<std::vector<std::string>> YamlDocument::TextList(std::string_view key, const YAML::Node& node) const {
  std::vector<std::string> texts;
  if (node.IsNull()) return texts;
  if (!node.IsSequence()) return Bad(key, node, "must be a list of names");
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return Bad(key, item, "holds an element that is not a name");
    texts.push_back(item.Scalar());
  }
  return texts;
}

Result<YamlDocument> ParseYaml(std::string_view text, const std::string& source) {
  YamlDocument document;
  document.source = source;
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (root.IsNull()) return document;
    if (!root.IsMap()) {
      return Error{ErrorCode::kInput, fmt::format("{}: must hold keys with values (key: value)", Printable(source))};
    }
    for (const auto& entry : root) {
      if (!entry.first.IsScalar()) {
        return Error{ErrorCode::kInput,
                     fmt::format("{}, line {}: a key must be a name", Printable(source), entry.first.Mark().line + 1)};
      }
      document.entries.emplace_back(entry.first.Scalar(), entry.second);
    }
  } catch (const YAML::Exception& error) {
    return Error{ErrorCode::kInput, fmt::format("{}: not valid YAML at line {}, column {}: {}", Printable(source),
                                                error.mark.line + 1, error.mark.column + 1, Excerpt(error.msg))};
  } catch (const std::exception& error) {
    return Error{ErrorCode::kInput, fmt::format("{}: not valid YAML: {}", Printable(source), Excerpt(error.what()))};
  }
  return document;
}

Result<YamlDocument> LoadYaml(const std::string& path, std::string_view otherwise, const std::string& otherwise_name) {
  if (path.empty()) return ParseYaml(otherwise, otherwise_name);
  const Result<std::string> text = ReadFile(path, kMostYamlBytes);
  if (!text.ok()) return text.error();
  if (!path.ends_with(".yaml") && !path.ends_with(".yml")) {
    return Error{ErrorCode::kInput, Printable(path) + " does not end in .yaml"};
  }
  return ParseYaml(*text, path);
}

}  // namespace msprobe
