#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/spawner_process.h"
#include "cli/stop_signals.h"
#include "cli/worker_protocol.h"

namespace msprobe {

/// What the spawner says when it is ready, or the signal that came first.
struct SpawnerStart {
  SpawnerHello hello;
  int stop_signal = 0;                    ///< not 0: `hello` is empty
  std::vector<std::string> error_output;  ///< lines on its stderr so far, to be shown if all went well
};

/// Sends the settings and waits for the answer. Errors, each in one line: the device or a library cannot be used, in
/// the spawner's words; it has ended, with the last line on its stderr; no answer in time.
Result<SpawnerStart> GreetSpawner(SpawnerProcess& spawner, StopSignals& signals, const WorkerSettings& settings,
                                  std::chrono::seconds timeout);

}  // namespace msprobe
