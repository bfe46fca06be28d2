#include "cli/package_settings.h"

#include <utility>

#include "cli/python_finder.h"

namespace msprobe {

Result<PackageSettings> LoadPackageSettings(const std::string& package_dir, const std::string& config_path) {
  PackageSettings settings;
  settings.support_list_path = PackageFile(package_dir, "pytorch/hook_module/support_wrap_ops.yaml");
  auto configured = ConfiguredSupportLists(config_path);
  if (!configured) return configured.error();
  auto overlays = FindSupportOverlays(*configured);
  if (!overlays) return overlays.error();
  settings.support_overlays = std::move(*overlays);
  auto names = LoadSupportList(Framework::kPyTorch, settings.support_list_path, settings.support_overlays);
  if (!names) return names.error();
  auto checker =
      LoadCheckerSettings(PackageFile(package_dir, "pytorch/api_accuracy_checker/config.yaml"), config_path, *names);
  if (!checker) return checker.error();
  settings.checker = std::move(*checker);
  return settings;
}

}  // namespace msprobe
