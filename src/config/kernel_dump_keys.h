#pragma once

#include "base/result.h"
#include "config/dump_settings.h"
#include "config/json_document.h"

namespace msprobe {

/// Level L2 of MindSpore: reads what is handed on to the framework, and refuses what the framework would fail on: other
/// words in data_mode than all, input and output; a dump_path with other characters than letters, digits, '_', '-' and
/// '/' (mindspore_facts.md 4). `root` holds step and rank, unless the
/// constructor was given the steps.
Status ReadKernelDumpKeys(const JsonSection& root, const JsonSection& section, const DumpSettingsRequest& request,
                          DumpSettings& settings);

/// The names of statistics that summary_mode may list there.
bool IsKernelStatistic(std::string_view name);

}  // namespace msprobe
