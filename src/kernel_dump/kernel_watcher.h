#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "kernel_dump/kernel_statistics.h"
#include "kernel_dump/summary_marker.h"

namespace msprobe {

/// What was made of a kernel dump.
struct KernelDumpTotals {
  std::size_t files = 0;       ///< summarised and removed
  std::size_t unreadable = 0;  ///< kept, their statistics blank
  std::string problem;         ///< of the first of these

  void Add(const SummarisedFolder& folder);
};

/// A thread that summarises the finished iterations of a kernel dump while the training runs. All processes of a job
/// may watch the same dump path: the last one to stop summarises the newest iterations too.
class KernelWatcher {
 public:
  /// Marks the dump path (`SummaryMarker`), which is made where it is missing, and starts the thread.
  static Result<std::unique_ptr<KernelWatcher>> Start(const std::string& path,
                                                      std::chrono::milliseconds interval = std::chrono::seconds(1));
  KernelWatcher(const KernelWatcher&) = delete;
  KernelWatcher& operator=(const KernelWatcher&) = delete;
  ~KernelWatcher();  ///< as Stop

  /// To be called when no kernel runs any more: summarises what is left and removes the mark, unless other processes
  /// still watch the path. Returns the first failure of the last pass; the mark then stays for `msprobe recover`. Does
  /// nothing the second time, and in a child that was forked meanwhile.
  Status Stop();

  /// Only after Stop.
  const KernelDumpTotals& totals() const { return totals_; }

 private:
  KernelWatcher(const std::string& path, std::chrono::milliseconds interval, SummaryMarker marker);
  struct Worker {
    std::mutex mutex;
    std::condition_variable stopped;
    bool stopping = false;
    std::thread thread;
  };

  void Run(Worker& worker);

  SummaryMarker marker_;
  std::chrono::milliseconds interval_;
  pid_t process_;
  KernelDumpTotals totals_;
  KernelStatistics statistics_;
  std::unique_ptr<Worker> worker_;  ///< null once it was stopped
};

/// What a kill has left in `path`, a dump path or its `rank_{id}` folder.
struct LeftOver {
  bool found = false;    ///< it is marked; else it is not touched
  bool is_live = false;  ///< a running process still watches it; it was not touched
  Status status;         ///< the first failure; the mark then stays
};

/// Summarises every iteration of a marked kernel dump that nobody watches any more, and removes the mark.
Result<LeftOver> SummariseLeftOver(const std::string& path, const SummaryVisitor& visit = {});

}  // namespace msprobe
