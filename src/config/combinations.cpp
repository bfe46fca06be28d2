#include "config/combinations.h"

#include <string>
#include <utility>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {
namespace {

Error Wrong(std::string message) { return {ErrorCode::kInput, std::move(message)}; }

// The kernels of one API at a time (pytorch_dump.md 8).
Status CheckPyTorchKernels(const CommonKeys& common, DumpSettings& settings) {
  if (settings.task != Task::kTensor) {
    return Wrong(fmt::format("level \"L2\" of PyTorch has task \"tensor\" only, not \"{}\"", settings.task_name));
  }
  const bool one_in_scope = !settings.scope.empty() && settings.scope.front() == settings.scope.back();
  const std::size_t names = settings.list.size() + (settings.scope.empty() ? 0 : one_in_scope ? 1 : 2);
  if (names != 1) {
    return Wrong(fmt::format(
        "level \"L2\" of PyTorch needs exactly one API name in \"list\" (or \"scope\") of \"tensor\"; there are {}",
        names));
  }
  settings.kernel_name = settings.list.empty() ? settings.scope.front() : settings.list.front();
  if (settings.kernel_name.starts_with('=')) settings.kernel_name.erase(0, 1);
  if (ParseNameParts(settings.kernel_name).kind != NameKind::kApi) {
    return Wrong(
        fmt::format("level \"L2\" of PyTorch needs the full name of one API call, such as "
                    "\"Functional.linear.0.forward\"; \"{}\" is none",
                    Excerpt(settings.kernel_name, 80)));
  }
  if (!common.acl_config.empty()) {
    if (Status checked = CheckInputFile(common.acl_config, ".json"); !checked.ok()) {
      return Error{checked.error().code, "acl_config: " + checked.error().message};
    }
    settings.acl_config = AbsolutePath(common.acl_config);
  }
  return {};
}

Status CheckLevelAndTask(const CommonKeys& common, Framework framework, DumpSettings& settings) {
  if (settings.task == Task::kOverflowCheck) {
    const bool fits = framework == Framework::kPyTorch
                          ? settings.level != Level::kL2 && settings.level != Level::kDebug
                          : settings.level != Level::kMix && settings.level != Level::kDebug;
    if (!fits) {
      return Wrong(
          fmt::format("task \"overflow_check\" has no level \"{}\"; it must be {}", settings.level_name,
                      framework == Framework::kPyTorch ? "\"L0\", \"L1\" or \"mix\"" : "\"L0\", \"L1\" or \"L2\""));
    }
  }
  if (settings.level == Level::kL2 && framework == Framework::kPyTorch) return CheckPyTorchKernels(common, settings);
  if (!common.acl_config.empty())
    settings.warnings.push_back("\"acl_config\" has no effect but at level \"L2\" of PyTorch");
  return {};
}

Status CheckAsyncDump(const CommonKeys& common, const JsonSection& section, const DumpSettings& settings) {
  if (!common.async_dump) return {};
  if (settings.task == Task::kTensor && settings.level != Level::kDebug && settings.list.empty()) {
    return section.Bad("list", "is empty; \"async_dump\" with task \"tensor\" needs the names of some records");
  }
  if (settings.summary_mode == SummaryMode::kMd5) {
    return section.Bad("summary_mode", "is \"md5\", which cannot be combined with \"async_dump\"");
  }
  return {};
}

bool RecordsCalls(Level level) { return level == Level::kL0 || level == Level::kL1 || level == Level::kMix; }

}  // namespace

Status CheckCombinations(const CommonKeys& common, const JsonSection& section, Framework framework,
                         DumpSettings& settings) {
  if (Status checked = CheckLevelAndTask(common, framework, settings); !checked.ok()) return checked;
  if (Status checked = CheckAsyncDump(common, section, settings); !checked.ok()) return checked;
  if (!settings.tensor_list.empty() && !RecordsCalls(settings.level)) {
    settings.warnings.push_back(
        section.Bad("tensor_list", fmt::format("is ignored at level \"{}\"", settings.level_name)).message);
    settings.tensor_list.clear();
  }
  settings.risk_level = ParseRiskLevel(common.risk_level);
  if (settings.risk_level != RiskLevel::kAll) {
    const char* reason = framework == Framework::kMindSpore ? "with MindSpore"
                         : !settings.list.empty() || !settings.scope.empty()
                             ? "where \"list\" or \"scope\" chooses the records"
                             : nullptr;
    if (reason != nullptr) {
      settings.warnings.push_back(fmt::format("\"risk_level\" has no effect {}", reason));
      settings.risk_level = RiskLevel::kAll;
    }
  }
  return {};
}

}  // namespace msprobe
