#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/support_list.h"

namespace msprobe {

/// Settings of the checker from config.yaml and, when given, config.json (accuracy_checker.md 3, config.md 3.5 and 9).
struct CheckerSettings {
  std::vector<std::string> white_list;
  std::vector<std::string> black_list;
  std::string error_data_path = "./";
  int precision = 14;
  std::vector<std::string> warnings;
};

/// Overlay files of the support list that a config.json names; none for an empty path.
Result<std::vector<std::string>> ConfiguredSupportLists(const std::string& config_json_path);

/// `yaml_path` empty: the compiled-in default. `config_json_path` empty: not given; with it the lists and
/// error_data_path come from its section "run_ut" (or "acc_check") only. Unknown names in a list are an error naming
/// them and the nearest known.
Result<CheckerSettings> LoadCheckerSettings(const std::string& yaml_path, const std::string& config_json_path,
                                            const SupportList& names);

}  // namespace msprobe
