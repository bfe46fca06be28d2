#include "config/common_keys.h"

#include <array>
#include <limits>
#include <string_view>

#include "base/format.h"
#include "config/known_keys.h"
#include "config/number_list.h"

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 2> kPrecisions = {"low", "high"};
constexpr std::array<std::string_view, 3> kRiskLevels = {"CORE", "FOCUS", "ALL"};

// Moves a value out of a result, or keeps the first error.
template <typename T>
bool Take(Result<T> result, T& target, Status& status) {
  if (!result.ok()) {
    status = result.error();
    return false;
  }
  target = std::move(*result);
  return true;
}

}  // namespace

Result<std::vector<std::string>> ReadSupportLists(const JsonSection& root) {
  const rapidjson::Value* value = root.Find("support_list");
  if (value == nullptr || value->IsArray()) return root.TextList("support_list");
  if (!value->IsString()) {
    return root.Bad("support_list",
                    fmt::format("is {}; it must be the path of a yaml file or a list of paths", Describe(*value)));
  }
  return std::vector<std::string>{{value->GetString(), value->GetStringLength()}};
}

Result<CommonKeys> ReadCommonKeys(const JsonSection& root) {
  CommonKeys keys;
  Status status;
  std::string unused_text;
  bool unused_flag = false;
  bool is_deterministic = false;
  const bool valid = Take(root.Choice("task", "", kKnownTasks, kOfferedTasks), keys.task, status) &&
                     Take(root.Choice("level", "", kKnownLevels), keys.level, status) &&
                     Take(root.Text("dump_path", ""), keys.dump_path, status) &&
                     Take(ReadNumberList(root, "rank"), keys.ranks, status) &&
                     Take(ReadNumberList(root, "step"), keys.steps, status) &&
                     Take(root.Integer("seed", 0, std::numeric_limits<std::uint32_t>::max()), keys.seed, status) &&
                     Take(root.Boolean("is_deterministic", false), is_deterministic, status) &&
                     Take(root.Boolean("enable_dataloader", false), unused_flag, status) &&
                     Take(root.Boolean("async_dump", false), keys.async_dump, status) &&
                     Take(root.Boolean("dump_enable", true), unused_flag, status) &&
                     Take(root.Boolean("extra_info", true), keys.extra_info, status) &&
                     Take(root.Boolean("pynative_synchronize", true), keys.pynative_synchronize, status) &&
                     Take(root.Choice("precision", "low", kPrecisions), unused_text, status) &&
                     Take(root.Choice("risk_level", "ALL", kRiskLevels), keys.risk_level, status) &&
                     Take(root.Text("acl_config", ""), keys.acl_config, status) &&
                     Take(ReadSupportLists(root), keys.support_lists, status) &&
                     Take(root.TextList("custom_op_namespaces"), keys.custom_op_namespaces, status);
  if (!valid) return status.error();
  if (!root.Has("custom_op_namespaces")) keys.custom_op_namespaces = {"_C_ascend"};
  if (root.Has("is_deterministic")) keys.is_deterministic = is_deterministic;
  return keys;
}

}  // namespace msprobe
