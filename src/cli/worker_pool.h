#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/case_rows.h"
#include "cli/frame_channel.h"
#include "cli/spawner_process.h"
#include "cli/stop_signals.h"
#include "cli/worker_protocol.h"

namespace msprobe {

/// Exit code of a worker that has answered, but whose device has failed so badly that it takes no further case: one
/// that was handed to it meanwhile has not been begun.
inline constexpr int kDeviceLostExit = 3;

/// What goes to a worker.
struct PoolCase {
  std::size_t index = 0;
  std::string name;
  bool has_backward = false;
  std::string message;        ///< CaseMessage
  bool handed_twice = false;  ///< a worker has left with it before; the next one has the last word
};

struct PoolOptions {
  std::size_t workers = 1;
  std::vector<std::int64_t> device_ids;  ///< workers are spread over them in turn
  std::chrono::milliseconds case_timeout{0};
  std::chrono::seconds start_timeout{0};  ///< until a new worker must have said that it is ready; 0: none
  std::uint64_t memory_limit = 0;         ///< bytes of resident memory of a worker; 0: none
};

/// How the pool reaches its surroundings.
struct PoolEvents {
  std::function<Result<std::optional<PoolCase>>()> next_case;        ///< nothing: no more
  std::function<Status(std::size_t index, CaseRows rows)> finished;  ///< in any order
  std::function<void(const std::string& line)> error_output;         ///< a line on stderr of the Python processes
  std::function<void()> tick;                                        ///< several times a second
};

/// Gives cases to worker processes, one at a time each. A worker that dies, does not answer in time or takes too much
/// memory costs its own case: that gets an error row with the reason, a new worker takes its place (decisions 30).
class WorkerPool {
 public:
  WorkerPool(SpawnerProcess& spawner, StopSignals& signals, PoolOptions options, PoolEvents events);

  /// Until every case is finished: 0; or until a signal says stop: its number, after a moment for the cases that are
  /// running. Errors: of `events`, or the spawner has died, or workers die before they take a case.
  Result<int> Run();

 private:
  using Clock = std::chrono::steady_clock;

  struct Worker {
    std::uint64_t id = 0;
    std::int64_t device_id = 0;
    FrameChannel channel;
    Clock::time_point spawned_at;
    std::int64_t pid = -1;
    FileHandle pid_file;  ///< pidfd: kills this process and no other that got its number later
    bool ready = false;
    bool finished_a_case = false;
    std::optional<PoolCase> running;  ///< its message has been handed over
    Clock::time_point deadline;
    std::optional<Clock::time_point> closed_at;  ///< its socket has closed, or it was ended from outside
    std::string end_reason;                      ///< where the reason is known before the worker is dropped
  };

  Status Poll();
  Status ReadControl();
  Status OnSpawnerMessage(SpawnerMessage message);
  Status ReadWorker(Worker& worker);
  Status OnExited(const WorkerExited& exited);
  Status EndWorker(std::uint64_t id, const std::string& reason);
  Status CheckLimits();
  Status AssignCases();
  Status SpawnMissing();
  Status SpawnWorker(std::int64_t device_id);
  bool IsIdle() const;
  bool HasCases() const;
  Status FetchCase();
  Worker* Find(std::uint64_t id);
  static void Kill(const Worker& worker);

  SpawnerProcess& spawner_;
  StopSignals& signals_;
  PoolOptions options_;
  PoolEvents events_;
  std::list<Worker> workers_;
  std::vector<std::int64_t> free_devices_;  // one entry for each worker that is to be started
  std::optional<PoolCase> upcoming_;        // fetched, not given out yet
  std::vector<PoolCase> handed_back_;       // to be given out again, first of all
  bool no_more_cases_ = false;
  std::uint64_t next_id_ = 0;
  std::size_t failed_starts_ = 0;
  int stop_signal_ = 0;
  Clock::time_point stop_deadline_;
};

}  // namespace msprobe
