#include "config/checker_settings.h"

#include <algorithm>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "config/common_keys.h"
#include "config/defaults.h"
#include "config/json_document.h"
#include "config/known_keys.h"
#include "config/yaml_document.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMostConfigBytes = 64U << 20U;
constexpr std::int64_t kMostDecimals = 100;

const std::vector<std::string>& YamlKeys() {
  static const std::vector<std::string> keys = {
      "white_list", "black_list", "error_data_path",      "precision", "is_online", "nfs_path", "host", "port",
      "rank_list",  "tls_path",   "quantization_api_list"};
  return keys;
}

Error OnlineIsNotSupported(const std::string& place) {
  return {ErrorCode::kUnsupported,
          place + " is true, but online checking is not supported; set it to false and check a dump.json"};
}

Status CheckNames(const std::vector<std::string>& names, const std::string& place, const SupportList& known) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (IsKnownCheckerName(known, name)) continue;
    std::string text = fmt::format("\"{}\"", Excerpt(name, 60));
    const std::string nearest = NearestCheckerName(known, name);
    if (!nearest.empty()) text += fmt::format(" (did you mean \"{}\"?)", nearest);
    unknown.push_back(std::move(text));
    if (unknown.size() == 10) {
      unknown.emplace_back("...");
      break;
    }
  }
  if (unknown.empty()) return {};
  return Error{ErrorCode::kInput,
               fmt::format("{} holds unknown API names: {}; names stand there without a prefix, as in "
                           "support_wrap_ops.yaml",
                           place, Join(unknown, ", "))};
}

// A plain scalar, not one in quotes.
bool IsPlain(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

// config.yaml by itself; its lists are not yet checked against the known names.
Result<CheckerSettings> ReadYaml(const YamlDocument& document) {
  CheckerSettings settings;
  for (const auto& [key, node] : document.entries) {
    if (key == "white_list" || key == "black_list") {
      Result<std::vector<std::string>> names = document.TextList(key, node);
      if (!names.ok()) return names.error();
      (key == "white_list" ? settings.white_list : settings.black_list) = std::move(*names);
    } else if (key == "error_data_path") {
      if (node.IsNull()) continue;
      if (!node.IsScalar()) return document.Bad(key, node, "must be the path of a folder");
      settings.error_data_path = node.Scalar();
    } else if (key == "precision") {
      if (node.IsNull()) continue;
      const std::optional<std::int64_t> value = IsPlain(node) ? ParseInteger(node.Scalar()) : std::nullopt;
      if (!value || *value < 0 || *value > kMostDecimals) {
        return document.Bad(
            key, node,
            fmt::format("must be a whole number from 0 to {}, the decimals in the CSV files", kMostDecimals));
      }
      settings.precision = static_cast<int>(*value);
    } else if (key == "is_online") {
      const std::string value = node.IsNull() ? "false" : IsPlain(node) ? ToLowerAscii(node.Scalar()) : "";
      if (value == "true" || value == "yes" || value == "on") {
        return OnlineIsNotSupported(fmt::format("{}: \"is_online\"", Printable(document.source)));
      }
      if (value != "false" && value != "no" && value != "off") return document.Bad(key, node, "must be true or false");
    } else if (std::find(YamlKeys().begin(), YamlKeys().end(), key) == YamlKeys().end()) {
      const std::string nearest = Nearest(key, YamlKeys());
      return document.Bad(key, node,
                          nearest.empty() ? "is not a key of config.yaml"
                                          : fmt::format("is not a key of config.yaml; did you mean \"{}\"?", nearest));
    }
  }
  return settings;
}

// The lists and error_data_path of a config.json replace those of the yaml entirely (accuracy_checker.md 3.2).
Status ApplyJson(const std::string& path, CheckerSettings& settings, std::string& place) {
  if (Status checked = CheckInputFile(path, ".json", &settings.warnings); !checked.ok()) return checked;
  const Result<std::string> text = ReadFile(path, kMostConfigBytes);
  if (!text.ok()) return text.error();
  const Result<rapidjson::Document> document = ParseJsonObject(*text, path);
  if (!document.ok()) return document.error();
  const JsonSection root(&document.value(), "", path);
  if (std::string unknown = UnknownKeysWarning(root); !unknown.empty()) settings.warnings.push_back(std::move(unknown));
  const Result<CommonKeys> common = ReadCommonKeys(root);
  if (!common.ok()) return common.error();
  // "acc_check" is the newer name of the section.
  const std::string_view name = root.Has("run_ut") || !root.Has("acc_check") ? "run_ut" : "acc_check";
  const Result<JsonSection> section = root.Section(name);
  if (!section.ok()) return section.error();
  Result<std::vector<std::string>> white_list = section->TextList("white_list");
  if (!white_list.ok()) return white_list.error();
  Result<std::vector<std::string>> black_list = section->TextList("black_list");
  if (!black_list.ok()) return black_list.error();
  Result<std::string> error_data_path = section->Text("error_data_path", "./");
  if (!error_data_path.ok()) return error_data_path.error();
  const Result<bool> online = section->Boolean("is_online", false);
  if (!online.ok()) return online.error();
  if (*online) return OnlineIsNotSupported(Printable(path) + ": " + section->Place("is_online"));
  settings.white_list = std::move(*white_list);
  settings.black_list = std::move(*black_list);
  settings.error_data_path = std::move(*error_data_path);
  place = fmt::format("{}: \"{}.", Printable(path), name);
  return {};
}

}  // namespace

Result<std::vector<std::string>> ConfiguredSupportLists(const std::string& config_json_path) {
  if (config_json_path.empty()) return std::vector<std::string>();
  if (Status checked = CheckInputFile(config_json_path, ".json"); !checked.ok()) return checked.error();
  const Result<std::string> text = ReadFile(config_json_path, kMostConfigBytes);
  if (!text.ok()) return text.error();
  const Result<rapidjson::Document> document = ParseJsonObject(*text, config_json_path);
  if (!document.ok()) return document.error();
  return ReadSupportLists(JsonSection(&document.value(), "", config_json_path));
}

Result<CheckerSettings> LoadCheckerSettings(const std::string& yaml_path, const std::string& config_json_path,
                                            const SupportList& names) {
  const Result<YamlDocument> yaml = LoadYaml(yaml_path, kDefaultCheckerYaml, "the built-in config.yaml");
  if (!yaml.ok()) return yaml.error();
  Result<CheckerSettings> settings = ReadYaml(*yaml);
  if (!settings.ok()) return settings;
  std::string place = Printable(yaml->source) + ": \"";
  if (!config_json_path.empty()) {
    if (Status applied = ApplyJson(config_json_path, *settings, place); !applied.ok()) return applied.error();
  }
  if (Status white = CheckNames(settings->white_list, place + "white_list\"", names); !white.ok()) return white.error();
  if (Status black = CheckNames(settings->black_list, place + "black_list\"", names); !black.ok()) return black.error();
  if (settings->error_data_path.empty()) settings->error_data_path = "./";
  if (Status folder = CheckInputDirectory(settings->error_data_path); !folder.ok()) {
    return Error{folder.error().code, place + "error_data_path\": " + folder.error().message};
  }
  return settings;
}

}  // namespace msprobe
