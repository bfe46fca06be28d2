#pragma once

#include <exception>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

enum class Outcome { kDone, kFailed, kInterrupted };

/// Runs one stage of recording; a failure is told once and makes the rest of this call's recording void. An interrupt
/// stays pending.
template <typename Stage>
Outcome Guarded(Recording& recording, const char* where, const Stage& stage) {
  try {
    stage();
    return Outcome::kDone;
  } catch (const PythonError&) {
    if (IsInterrupt()) {
      return Outcome::kInterrupted;
    }
    recording.ReportPythonError(where);
  } catch (const std::exception& error) {
    recording.Report(where, error.what());
  }
  return Outcome::kFailed;
}

}  // namespace msprobe
