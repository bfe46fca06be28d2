#include "kernel_dump/kernel_watcher.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace msprobe {

void KernelDumpTotals::Add(const SummarisedFolder& folder) {
  files += folder.files;
  unreadable += folder.unreadable;
  if (problem.empty()) problem = folder.problem;
}

Result<std::unique_ptr<KernelWatcher>> KernelWatcher::Start(const std::string& path,
                                                            std::chrono::milliseconds interval) {
  auto marker = SummaryMarker::Create(path);
  if (!marker.ok()) return marker.error();
  std::unique_ptr<KernelWatcher> watcher(new KernelWatcher(path, interval, std::move(*marker)));
  auto worker = std::make_unique<Worker>();
  try {
    worker->thread = std::thread([watcher = watcher.get(), worker = worker.get()] { watcher->Run(*worker); });
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kInternal, std::string("cannot start a thread: ") + failure.what()};
  }
  watcher->worker_ = std::move(worker);
  return watcher;
}

KernelWatcher::KernelWatcher(const std::string& path, std::chrono::milliseconds interval, SummaryMarker marker)
    : marker_(std::move(marker)),
      interval_(interval),
      process_(::getpid()),
      statistics_(path, [this](const SummarisedFolder& folder) { totals_.Add(folder); }) {}

KernelWatcher::~KernelWatcher() {
  (void)Stop();
  // A forked child has no such thread, but a condition variable that waits for it for ever when it is destroyed.
  (void)worker_.release();
}

Status KernelWatcher::Stop() {
  if (process_ != ::getpid() || !worker_) return {};
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->stopping = true;
  }
  worker_->stopped.notify_one();
  worker_->thread.join();
  worker_.reset();
  // Before the lock is given up, so that the last one finds no folder in work.
  Status status = statistics_.Summarise(false);
  if (marker_.IsLast()) {
    status = statistics_.Summarise(true);
    if (status.ok()) marker_.Remove();
  }
  marker_ = SummaryMarker();
  return status;
}

void KernelWatcher::Run(Worker& worker) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's own threads
  std::unique_lock lock(worker.mutex);
  while (!worker.stopped.wait_for(lock, interval_, [&worker] { return worker.stopping; })) {
    lock.unlock();
    (void)statistics_.Summarise(false);  // what failed is tried again, and told at the end
    lock.lock();
  }
}

Result<LeftOver> SummariseLeftOver(const std::string& path, const SummaryVisitor& visit) {
  auto marker = SummaryMarker::OpenLeftOver(path);
  if (!marker.ok()) return marker.error();
  LeftOver left_over;
  left_over.found = marker->held();
  if (!left_over.found) return left_over;
  left_over.is_live = !marker->IsLast();
  if (left_over.is_live) return left_over;
  left_over.status = SummariseKernelDump(path, true, visit);
  if (left_over.status.ok()) marker->Remove();
  return left_over;
}

}  // namespace msprobe
