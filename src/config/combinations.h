#pragma once

#include "base/result.h"
#include "config/common_keys.h"
#include "config/dump_settings.h"
#include "config/json_document.h"

namespace msprobe {

/// Level, task and keys that do not go together (config.md 4 and 5), once each of them is known to be right by itself.
/// What has no effect gets a line in `settings.warnings`; whether a device or an execution mode offers a level is not
/// known here. Sets `settings.risk_level`.
Status CheckCombinations(const CommonKeys& common, const JsonSection& section, Framework framework,
                         DumpSettings& settings);

}  // namespace msprobe
