#pragma once

#include "cli/command.h"

namespace msprobe {

/// api_precision_compare (precision_standards.md 1).
Command CompareCommand();

}  // namespace msprobe
