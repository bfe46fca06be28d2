#include "config/kernel_dump_keys.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/number_list.h"

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 13> kStatistics = {"max",
                                                          "min",
                                                          "mean",
                                                          "l2norm",
                                                          "count",
                                                          "negative zero count",
                                                          "zero count",
                                                          "positive zero count",
                                                          "nan count",
                                                          "negative inf count",
                                                          "positive inf count",
                                                          "hash",
                                                          "md5"};
constexpr std::array<std::string_view, 2> kDevices = {"host", "device"};
constexpr std::array<std::string_view, 2> kPrecisions = {"high", "low"};

Status ReadStatistics(const JsonSection& section, KernelDumpKeys& keys) {
  const rapidjson::Value* mode = section.Find("summary_mode");
  if (mode == nullptr) return {};
  if (!mode->IsArray()) {
    const bool is_md5 = mode->IsString() && mode->GetString() == std::string_view("md5");
    keys.statistics =
        is_md5 ? std::vector<std::string>{"md5"} : std::vector<std::string>{"max", "min", "mean", "l2norm"};
    return {};
  }
  Result<std::vector<std::string>> names = section.TextList("summary_mode");
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (!IsKernelStatistic(name)) {
      return section.Bad("summary_mode",
                         fmt::format("holds \"{}\"; a statistic is {}", Excerpt(name, 80), Alternatives(kStatistics)));
    }
  }
  keys.statistics = std::move(*names);
  return {};
}

Status CheckPath(const std::string& path) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '/';
  };
  const auto wrong = std::find_if_not(path.begin(), path.end(), is_allowed);
  if (wrong == path.end()) return {};
  return Error{
      ErrorCode::kInput,
      fmt::format("dump_path: at level L2 MindSpore writes the data itself and takes letters, digits, '_', '-' and "
                  "'/' alone; \"{}\" holds '{}'; choose another folder",
                  Excerpt(path, 200), *wrong)};
}

Status CheckDataMode(const JsonSection& section, const DataMode& mode) {
  if (mode.forward && mode.backward) return {};
  return section.Bad("data_mode", "must be [\"all\"], [\"input\"] or [\"output\"] at level L2");
}

}  // namespace

bool IsKernelStatistic(std::string_view name) {
  return std::find(kStatistics.begin(), kStatistics.end(), name) != kStatistics.end();
}

Status ReadKernelDumpKeys(const JsonSection& root, const JsonSection& section, const DumpSettingsRequest& request,
                          DumpSettings& settings) {
  KernelDumpKeys& keys = settings.kernels;
  if (Status checked = CheckPath(settings.dump_path); !checked.ok()) return checked;
  if (Status checked = CheckDataMode(section, settings.data_mode); !checked.ok()) return checked;
  Result<std::vector<std::int64_t>> steps = request.steps
                                                ? ParseNumberList(*request.steps, "the argument step", Order::kAsGiven)
                                                : ReadNumberList(root, "step", Order::kAsGiven);
  if (!steps.ok()) return steps.error();
  keys.steps = std::move(*steps);
  Result<std::vector<std::int64_t>> ranks = ReadNumberList(root, "rank", Order::kAsGiven);
  if (!ranks.ok()) return ranks.error();
  keys.ranks = std::move(*ranks);
  Result<bool> async_dump = root.Boolean("async_dump", false);
  if (!async_dump.ok()) return async_dump.error();
  keys.async_dump = *async_dump;
  if (settings.task == Task::kOverflowCheck) {
    Result<std::string> check_mode = section.Text("check_mode", "all");
    if (!check_mode.ok()) return check_mode.error();
    keys.check_mode = check_mode->empty() ? "all" : std::move(*check_mode);
  }
  if (settings.task != Task::kStatistics) return {};
  Result<std::string> device = section.Choice("device", "", kDevices);
  if (!device.ok()) return device.error();
  keys.device = std::move(*device);
  Result<std::string> precision = section.Choice("precision", "", kPrecisions);
  if (!precision.ok()) return precision.error();
  keys.precision = std::move(*precision);
  return ReadStatistics(section, keys);
}

}  // namespace msprobe
