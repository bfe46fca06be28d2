#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/checker_settings.h"

namespace msprobe {

/// The checker's settings from the package's editable files (decisions 46) and, if given, a config.json.
struct PackageSettings {
  CheckerSettings checker;
  std::string support_list_path;              ///< "": the compiled-in default holds
  std::vector<std::string> support_overlays;  ///< files on top of it: of the config.json, of MSPROBE_SUPPORT_LIST
};

/// `package_dir` "": the compiled-in defaults.
Result<PackageSettings> LoadPackageSettings(const std::string& package_dir, const std::string& config_path);

}  // namespace msprobe
