#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/dump_settings.h"

namespace msprobe {

/// `scope` (config.md 3.1.1): none, one (start = end) or two complete record names of the kind that the level records.
/// `place` names the key in messages. An unknown prefix is a warning only, a name without its number and direction an
/// error.
Result<std::vector<std::string>> CheckScope(std::vector<std::string> names, Level level, Framework framework,
                                            const std::string& place, std::vector<std::string>& warnings);

}  // namespace msprobe
