#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/dump_settings.h"
#include "config/json_document.h"

namespace msprobe {

/// Keys that files of the reference tool may hold and that this tool does not act on (decisions 25): ignored with one
/// warning each where that is harmless, otherwise refused. `section` is the one of the effective task.
Status CheckUnsupportedKeys(const JsonSection& root, const JsonSection& section, Framework framework, Level level,
                            std::vector<std::string>& warnings);

/// The same for a task.
Status CheckTaskIsSupported(const std::string& task);

}  // namespace msprobe
