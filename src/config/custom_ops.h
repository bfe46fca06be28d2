#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// Functions of one module that are recorded beside the support list; the module's path is their group.
struct CustomModule {
  std::string path;  ///< "my_package.ops"
  std::vector<std::string> functions;
};

struct CustomOps {
  std::vector<CustomModule> modules;  ///< in file order
  std::vector<std::string> warnings;  ///< one line for each entry that is left out
};

/// custom_wrap_ops.yaml (pytorch_dump.md 13.3): path of a module -> names of its functions. `path` empty: the
/// compiled-in default. Paths and names that are no identifiers, or too long, are left out with a warning; a file that
/// is no YAML of this form is an error.
Result<CustomOps> LoadCustomOps(const std::string& path);

}  // namespace msprobe
