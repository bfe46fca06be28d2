#pragma once

#include "base/file_handle.h"

namespace msprobe {

/// SIGINT, SIGTERM and SIGHUP as something to poll for, instead of handlers: blocked while this lives. Child processes
/// start with an empty mask (SpawnerProcess).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int descriptor() const { return file_.get(); }

  /// The number of the next signal that has arrived, 0 if none.
  int Take();

 private:
  FileHandle file_;
};

}  // namespace msprobe
