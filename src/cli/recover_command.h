#pragma once

#include "cli/command.h"

namespace msprobe {

/// recover: makes a dump usable whose training was killed (spec decisions 14 and 42).
Command RecoverCommand();

}  // namespace msprobe
