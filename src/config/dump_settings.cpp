#include "config/dump_settings.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "config/combinations.h"
#include "config/common_keys.h"
#include "config/defaults.h"
#include "config/json_document.h"
#include "config/kernel_dump_keys.h"
#include "config/known_keys.h"
#include "config/number_list.h"
#include "config/scope.h"
#include "config/support_list.h"
#include "config/unsupported_keys.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMostConfigBytes = 64U << 20U;
constexpr std::array<std::string_view, 2> kFileFormats = {"npy", "bin"};
constexpr std::array<std::string_view, 2> kSummaryModes = {"statistics", "md5"};
constexpr std::array<std::string_view, 5> kDataModes = {"all", "forward", "backward", "input", "output"};
constexpr std::array<std::string_view, 3> kCheckModes = {"all", "aicore", "atomic"};

struct ConfigText {
  std::string text;
  std::string source;
};

Result<ConfigText> FindConfig(const DumpSettingsRequest& request, std::vector<std::string>& warnings) {
  std::string path = request.config_path.value_or("");
  if (!path.empty()) {
    if (Status checked = CheckInputFile(path, ".json", &warnings); !checked.ok()) return checked.error();
  } else if (!request.packaged_config.empty() && CheckInputFile(request.packaged_config).ok()) {
    path = request.packaged_config;
  } else {
    return ConfigText{std::string(kDefaultConfigJson), "the built-in config.json"};
  }
  Result<std::string> text = ReadFile(path, kMostConfigBytes);
  if (!text.ok()) return text.error();
  return ConfigText{std::move(*text), path};
}

Task ParseTask(std::string_view name) {
  if (name == "tensor") return Task::kTensor;
  if (name == "overflow_check") return Task::kOverflowCheck;
  if (name == "structure") return Task::kStructure;
  return Task::kStatistics;
}

Level ParseLevel(std::string_view name) {
  if (name == "L0") return Level::kL0;
  if (name == "L2") return Level::kL2;
  if (name == "mix") return Level::kMix;
  if (name == "debug") return Level::kDebug;
  return Level::kL1;
}

// The argument if it is not empty, else the file's value, else the default.
Result<std::string> ChooseName(const std::optional<std::string>& argument, const std::string& from_file,
                               std::string_view otherwise, std::span<const std::string_view> known, const char* key,
                               std::span<const std::string_view> offered) {
  if (!argument || argument->empty()) return from_file.empty() ? std::string(otherwise) : from_file;
  if (std::find(known.begin(), known.end(), *argument) != known.end()) return *argument;
  return Error{ErrorCode::kInput, fmt::format("the argument {} is \"{}\"; it must be {}", key, Excerpt(*argument, 80),
                                              Alternatives(offered))};
}

Result<DataMode> ReadDataMode(const JsonSection& section) {
  const Result<std::vector<std::string>> words = section.TextList("data_mode");
  if (!words.ok()) return words.error();
  const auto has = [&](std::string_view word) { return std::find(words->begin(), words->end(), word) != words->end(); };
  for (const std::string& word : *words) {
    if (std::find(kDataModes.begin(), kDataModes.end(), word) == kDataModes.end()) {
      return section.Bad(
          "data_mode", fmt::format("holds \"{}\"; an element must be {}", Excerpt(word, 80), Alternatives(kDataModes)));
    }
  }
  if (words->size() > 4) return section.Bad("data_mode", "has more than 4 elements; \"all\" alone keeps everything");
  if (has("all") && words->size() > 1) {
    return section.Bad("data_mode", "holds \"all\" beside other words; \"all\" must stand alone");
  }
  // Two axes, direction and side (config.md 3.1.3): an axis that is not mentioned is kept whole.
  DataMode mode;
  if (has("forward") || has("backward")) {
    mode.forward = has("forward");
    mode.backward = has("backward");
  }
  if (has("input") || has("output")) {
    mode.input = has("input");
    mode.output = has("output");
  }
  return mode;
}

Result<SummaryMode> ReadSummaryMode(const JsonSection& section, bool may_be_list) {
  const rapidjson::Value* value = section.Find("summary_mode");
  if (value != nullptr && value->IsArray()) {
    if (may_be_list) return SummaryMode::kStatistics;
    return Error{
        ErrorCode::kUnsupported,
        section.Bad("summary_mode", "is a list, which is not supported; use \"statistics\" or \"md5\"").message};
  }
  if (value != nullptr && value->IsString() && value->GetString() == std::string_view("xor")) {
    return Error{ErrorCode::kUnsupported,
                 section.Bad("summary_mode", "is \"xor\", which is not supported; use \"md5\"").message};
  }
  const Result<std::string> mode = section.Choice("summary_mode", "statistics", kSummaryModes);
  if (!mode.ok()) return mode.error();
  return *mode == "md5" ? SummaryMode::kMd5 : SummaryMode::kStatistics;
}

Status ReadFilters(const JsonSection& section, Framework framework, DumpSettings& settings) {
  Result<std::vector<std::string>> scope = section.TextList("scope");
  if (!scope.ok()) return scope.error();
  const std::string place = Printable(section.source()) + ": " + section.Place("scope");
  scope = CheckScope(std::move(*scope), settings.level, framework, place, settings.warnings);
  if (!scope.ok()) return scope.error();
  settings.scope = std::move(*scope);
  Result<std::vector<std::string>> list = section.TextList("list");
  if (!list.ok()) return list.error();
  settings.list = std::move(*list);
  const Result<DataMode> data_mode = ReadDataMode(section);
  if (!data_mode.ok()) return data_mode.error();
  settings.data_mode = *data_mode;
  return {};
}

Status ReadOverflowKeys(const JsonSection& section, DumpSettings& settings) {
  const Result<std::optional<std::int64_t>> count =
      section.Integer("overflow_nums", -1, std::numeric_limits<std::int64_t>::max());
  if (!count.ok()) return count.error();
  settings.overflow_nums = count->value_or(1);
  if (settings.overflow_nums == 0) return section.Bad("overflow_nums", "is 0; it must be -1 (no limit) or positive");
  const Result<std::string> mode = section.Choice("check_mode", "all", kCheckModes);
  return mode.ok() ? Status() : Status(mode.error());
}

Status ReadValueKeys(const JsonSection& section, Framework framework, DumpSettings& settings) {
  const bool of_kernels = framework == Framework::kMindSpore && settings.level == Level::kL2;
  const Result<SummaryMode> summary_mode = ReadSummaryMode(section, of_kernels);
  if (!summary_mode.ok()) return summary_mode.error();
  settings.summary_mode = *summary_mode;
  if (settings.task == Task::kStatistics) {
    Result<std::vector<std::string>> tensor_list = section.TextList("tensor_list");
    if (!tensor_list.ok()) return tensor_list.error();
    settings.tensor_list = std::move(*tensor_list);
    return {};
  }
  Result<std::string> format = section.Choice("file_format", "npy", kFileFormats);
  if (!format.ok()) return format.error();
  settings.file_format = std::move(*format);
  const Result<bool> online = section.Boolean("online_run_ut", false);
  return online.ok() ? Status() : Status(online.error());
}

Status ReadTaskSection(const JsonSection& section, Framework framework, DumpSettings& settings) {
  if (settings.task == Task::kStructure && settings.level != Level::kL0 && settings.level != Level::kMix) {
    settings.warnings.push_back(
        fmt::format("task \"structure\" has no level \"{}\"; level \"mix\" is used", settings.level_name));
    settings.level = Level::kMix;
    settings.level_name = "mix";
  }
  if (Status filters = ReadFilters(section, framework, settings); !filters.ok()) return filters;
  switch (settings.task) {
    case Task::kStructure:
      return {};
    case Task::kOverflowCheck:
      if (framework == Framework::kMindSpore) settings.data_mode = {};
      return ReadOverflowKeys(section, settings);
    case Task::kStatistics:
    case Task::kTensor:
      break;
  }
  return ReadValueKeys(section, framework, settings);
}

}  // namespace

Result<DumpSettings> LoadDumpSettings(const DumpSettingsRequest& request, Framework framework) {
  DumpSettings settings;
  const Result<ConfigText> config = FindConfig(request, settings.warnings);
  if (!config.ok()) return config.error();
  const Result<rapidjson::Document> document = ParseJsonObject(config->text, config->source);
  if (!document.ok()) return document.error();
  const JsonSection root(&document.value(), "", config->source);
  if (std::string unknown = UnknownKeysWarning(root); !unknown.empty()) settings.warnings.push_back(std::move(unknown));
  Result<CommonKeys> common = ReadCommonKeys(root);
  if (!common.ok()) return common.error();

  Result<std::string> task = ChooseName(request.task, common->task, "statistics", kKnownTasks, "task", kOfferedTasks);
  if (!task.ok()) return task.error();
  if (Status supported = CheckTaskIsSupported(*task); !supported.ok()) return supported.error();
  Result<std::string> level = ChooseName(request.level, common->level, "L1", kKnownLevels, "level", kKnownLevels);
  if (!level.ok()) return level.error();
  settings.task = ParseTask(*task);
  settings.task_name = std::move(*task);
  settings.level = ParseLevel(*level);
  settings.level_name = std::move(*level);

  const bool path_is_argument = request.dump_path && !request.dump_path->empty();
  const std::string dump_path = path_is_argument ? *request.dump_path : common->dump_path;
  if (dump_path.empty()) return root.Bad("dump_path", "is missing or empty; name the folder that takes the data");
  if (Status checked = CheckOutputPath(dump_path); !checked.ok()) {
    return Error{checked.error().code, "dump_path: " + checked.error().message};
  }
  settings.dump_path = AbsolutePath(dump_path);

  settings.ranks = std::move(common->ranks);
  settings.steps = std::move(common->steps);
  if (request.steps) {
    Result<std::vector<std::int64_t>> steps = ParseNumberList(*request.steps, "the argument step");
    if (!steps.ok()) return steps.error();
    settings.steps = std::move(*steps);
  }
  Result<std::vector<std::string>> support_lists = FindSupportOverlays(common->support_lists);
  if (!support_lists.ok()) return support_lists.error();
  settings.support_lists = std::move(*support_lists);
  settings.extra_info = common->extra_info;
  settings.pynative_synchronize = common->pynative_synchronize;
  settings.custom_op_namespaces = std::move(common->custom_op_namespaces);
  settings.seed = common->seed;
  settings.is_deterministic = common->is_deterministic;

  const Result<JsonSection> section = root.Section(settings.task_name);
  if (!section.ok()) return section.error();
  if (Status read = ReadTaskSection(*section, framework, settings); !read.ok()) return read.error();
  if (Status combined = CheckCombinations(*common, *section, framework, settings); !combined.ok()) {
    return combined.error();
  }
  if (framework == Framework::kMindSpore && settings.level == Level::kL2) {
    if (Status kernels = ReadKernelDumpKeys(root, *section, request, settings); !kernels.ok()) return kernels.error();
  }
  if (Status keys = CheckUnsupportedKeys(root, *section, framework, settings.level, settings.warnings); !keys.ok())
    return keys.error();
  return settings;
}

}  // namespace msprobe
