#include "cli/other_installation.h"

#include "base/files.h"
#include "cli/python_finder.h"

namespace msprobe {

std::string OtherInstallation() {
  const std::string found = FindBesideExecutable("mindstudio_probe-*.dist-info");
  if (found.empty()) return "";
  return "the package mindstudio-probe is installed in the same environment (" + Printable(found) +
         ") and uses the same import name: uninstall both and install one of them again";
}

}  // namespace msprobe
