#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "config/ignore_rules.h"
#include "python/recording.h"
#include "python/torch/torch_access.h"
#include "python/torch/unlisted_functions.h"

namespace msprobe {

/// Stands in the API table for functions that run autograd's engine: they are no records, but what they call may be.
inline constexpr int kEngineFunction = -2;

/// What recording torch needs in addition.
struct TorchRecording : Recording {
  TorchRecording(DumpSettings settings, PyObject* helpers, std::string tool_folder)
      : Recording(std::move(settings), Framework::kPyTorch, std::make_unique<TorchAccess>(helpers),
                  std::move(tool_folder)) {}

  IgnoreRules ignore_rules;
  Object api_table;               ///< dict: function object -> index of the API, or kEngineFunction
  Object enter_mode, leave_mode;  ///< put the mode on this thread's stack again, and take it off
  UnlistedFunctions unlisted;
  /// Recorders made earlier than the newest are out of use: one may be left in a thread that did not stop it itself.
  std::uint64_t newest_recorder = 0;
  unsigned long recorder_thread = 0;  ///< that made the newest one: where calls are recorded but for those of backward
};

}  // namespace msprobe
