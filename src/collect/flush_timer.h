#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace msprobe {

/// A thread that flushes what has waited long enough, also when the program hangs in a call and no record follows. It
/// is started at the first use.
class FlushTimer {
 public:
  using Clock = std::chrono::steady_clock;
  /// `flush` runs on the thread, once for each Arm; it may arm the timer again.
  explicit FlushTimer(std::function<void()> flush) : flush_(std::move(flush)) {}
  ~FlushTimer();  ///< waits for a flush that is running
  FlushTimer(const FlushTimer&) = delete;
  FlushTimer& operator=(const FlushTimer&) = delete;

  /// Flushes within `delay` from now, if nothing asks for it earlier.
  void Arm(Clock::duration delay);

 private:
  void Run();

  std::function<void()> flush_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> due_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace msprobe
