#include "collect/flush_timer.h"

#include <pthread.h>

#include <csignal>

namespace msprobe {

FlushTimer::~FlushTimer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void FlushTimer::Arm(Clock::duration delay) {
  const Clock::time_point due = Clock::now() + delay;
  {
    const std::lock_guard lock(mutex_);
    if (due_ && *due_ <= due) {
      return;
    }
    due_ = due;
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { Run(); });
    }
  }
  changed_.notify_one();
}

void FlushTimer::Run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's own threads
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!due_) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < *due_) {
      const Clock::time_point due = *due_;
      changed_.wait_until(lock, due);
      continue;
    }
    due_.reset();
    lock.unlock();
    flush_();
    lock.lock();
  }
}

}  // namespace msprobe
