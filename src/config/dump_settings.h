#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/risk_level.h"

namespace msprobe {

enum class Task : std::uint8_t { kStatistics, kTensor, kOverflowCheck, kStructure };
enum class Level : std::uint8_t { kL0, kL1, kL2, kMix, kDebug };
enum class SummaryMode : std::uint8_t { kStatistics, kMd5 };
enum class Framework : std::uint8_t { kPyTorch, kMindSpore };

/// data_mode as its two axes (config.md 3.1.3): a part is kept when its direction and its side are both kept.
struct DataMode {
  bool forward = true;
  bool backward = true;
  bool input = true;
  bool output = true;

  bool forward_input() const { return forward && input; }
  bool forward_output() const { return forward && output; }
  bool backward_input() const { return backward && input; }
  bool backward_output() const { return backward && output; }
  bool parameters() const { return forward_input(); }
  /// Without it no hook for them is made at all.
  bool parameter_gradients() const { return backward_output(); }
};

/// What level L2 of MindSpore hands on to the framework as it was given (mindspore_dump.md 9).
struct KernelDumpKeys {
  std::vector<std::int64_t> steps;  ///< in the order of the file, as are ranks
  std::vector<std::int64_t> ranks;
  /// "max", "mean", "md5", ...; absent where summary_mode is not in the file.
  std::optional<std::vector<std::string>> statistics;
  std::string device;     ///< where statistics are computed, "host" or "device"; "" where it is not in the file
  std::string precision;  ///< "high" or "low"; "" where it is not in the file
  std::string check_mode = "all";
  bool async_dump = false;
};

/// A validated config.json with the constructor's arguments on top (config.md 1.2: argument that is not None > file >
/// packaged default). `dump_path` is absolute.
struct DumpSettings {
  Task task = Task::kStatistics;
  Level level = Level::kL1;
  std::string task_name;   ///< as written into dump.json
  std::string level_name;  ///< as written into dump.json
  std::string dump_path;
  std::vector<std::int64_t> ranks;  ///< sorted, empty: every rank
  std::vector<std::int64_t> steps;  ///< sorted, empty: every step
  std::vector<std::string> scope;   ///< empty, or two names
  std::vector<std::string> list;
  DataMode data_mode;
  SummaryMode summary_mode = SummaryMode::kStatistics;
  std::vector<std::string> tensor_list;  ///< task statistics: records whose tensors become files all the same
  RiskLevel risk_level = RiskLevel::kAll;
  std::string kernel_name;  ///< PyTorch level L2: the API call whose kernels are dumped
  KernelDumpKeys kernels;   ///< MindSpore level L2
  std::string acl_config;   ///< PyTorch level L2: configuration file for the device's dump, absolute; empty: made by us
  std::vector<std::string> support_lists;         ///< overlay files, absolute paths
  std::vector<std::string> custom_op_namespaces;  ///< of torch.ops, whose operators are recorded too
  std::string file_format = "npy";
  std::int64_t overflow_nums = 1;  ///< records of task overflow_check until collecting ends; -1: no limit
  bool extra_info = true;
  bool pynative_synchronize = true;      ///< MindSpore on a CPU: whether the tool may set it (decisions 43)
  std::optional<std::int64_t> seed;      ///< only if the file says so explicitly
  std::optional<bool> is_deterministic;  ///< only if the file says so explicitly

  /// Whether some records' tensors become files.
  bool saves_tensors() const { return task == Task::kTensor || task == Task::kOverflowCheck || !tensor_list.empty(); }

  std::vector<std::string> warnings;  ///< one line each: unknown keys with the nearest known one, ignored values
};

/// What the constructor was given; absent = None.
struct DumpSettingsRequest {
  std::optional<std::string> config_path;  ///< absent or empty: the packaged default file
  std::optional<std::string> task;
  std::optional<std::string> dump_path;
  std::optional<std::string> level;
  /// Elements as JSON values of config.md 2.3: integers and strings such as "4-6".
  std::optional<std::vector<std::string>> steps;
  std::string packaged_config;  ///< path of the package's editable msprobe/config.json; "" = the compiled-in default
};

/// Every failure names key, value and what is allowed (config.md 2.2, 3, 4, 5); JSON errors name file, line and column.
Result<DumpSettings> LoadDumpSettings(const DumpSettingsRequest& request, Framework framework);

}  // namespace msprobe
