#pragma once

#include <string>
#include <vector>

namespace msprobe {

/// The environment of the Python processes: the caller's, without the current directory on the module path, so that a
/// file there cannot stand in for a module (as for an installed console script).
std::vector<std::string> ChildEnvironment();

/// The null-terminated array that exec takes; valid as long as `texts`.
std::vector<char*> ExecPointers(std::vector<std::string>& texts);

}  // namespace msprobe
