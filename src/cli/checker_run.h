#pragma once

#include "base/result.h"
#include "cli/checker_options.h"
#include "cli/console.h"

namespace msprobe {

/// run_ut and multi_run_ut: dump -> plan -> workers -> CSVs -> summary. Returns the exit code of a run that came to its
/// end or was stopped by a signal; an error otherwise.
Result<int> RunChecker(const CheckerOptions& options, Console& console);

}  // namespace msprobe
