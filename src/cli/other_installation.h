#pragma once

#include <string>

namespace msprobe {

/// Both this tool and the package mindstudio-probe are imported as `msprobe`, so their files mix when they are
/// installed into one environment (decisions 48). One line that says so and what to do; "" when the other one is not
/// there.
std::string OtherInstallation();

}  // namespace msprobe
