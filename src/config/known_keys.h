#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "config/json_document.h"

namespace msprobe {

/// Tasks of all generations of the file (config.md 2.1); a section has the name of its task.
inline constexpr std::array<std::string_view, 11> kKnownTasks = {
    "statistics",     "tensor",     "overflow_check", "structure", "run_ut",    "acc_check",
    "free_benchmark", "grad_probe", "exception_dump", "nan_check", "diff_check"};
/// Those that collect something here.
inline constexpr std::array<std::string_view, 4> kOfferedTasks = {"statistics", "tensor", "overflow_check",
                                                                  "structure"};
inline constexpr std::array<std::string_view, 5> kKnownLevels = {"L0", "L1", "L2", "mix", "debug"};

/// One warning that lists the keys of the file which no generation knows, with the nearest known one; "" if there is
/// none.
std::string UnknownKeysWarning(const JsonSection& root);

}  // namespace msprobe
