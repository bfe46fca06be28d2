#pragma once

#include <string>

#include "cli/command.h"

namespace msprobe {

std::string MainHelp();
std::string CommandHelp(const Command& command);

/// "usage: msprobe ...".
std::string MainUsage();
std::string CommandUsage(const Command& command);

}  // namespace msprobe
