#include "cli/worker_pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/size_text.h"

namespace msprobe {
namespace {

constexpr int kPollMilliseconds = 100;
constexpr int kSignalDelayMilliseconds = 300;
constexpr std::chrono::seconds kStopGrace{1};
constexpr std::chrono::seconds kExitNotice{2};  // from a worker's closed socket to the spawner's word how it ended
constexpr std::size_t kMaxFailedStarts = 3;

/// Resident memory of a process in bytes; 0 if it is gone.
std::uint64_t ResidentBytes(std::int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/statm";
  std::FILE* file = ::fopen(path.c_str(), "re");
  if (file == nullptr) return 0;
  unsigned long long total = 0;
  unsigned long long resident = 0;
  const int count = ::fscanf(file, "%llu %llu", &total, &resident);
  ::fclose(file);
  return count == 2 ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::string ExitText(const WorkerExited& exited) {
  if (exited.signal == SIGKILL) {
    return "the worker process was killed by " + SignalText(SIGKILL) + ", as the system does when memory runs out";
  }
  if (exited.signal != 0) return "the worker process was killed by " + SignalText(exited.signal);
  return "the worker process ended by itself with exit code " + std::to_string(exited.status);
}

std::string Seconds(std::chrono::milliseconds time) {
  char text[32] = {};
  ::snprintf(text, sizeof(text), "%g s", static_cast<double>(time.count()) / 1000.0);
  return text;
}

}  // namespace

WorkerPool::WorkerPool(SpawnerProcess& spawner, StopSignals& signals, PoolOptions options, PoolEvents events)
    : spawner_(spawner), signals_(signals), options_(std::move(options)), events_(std::move(events)) {
  for (std::size_t i = 0; i < options_.workers; ++i) {
    free_devices_.push_back(options_.device_ids[i % options_.device_ids.size()]);
  }
}

Result<int> WorkerPool::Run() {
  while (true) {
    if (stop_signal_ == 0) {
      if (Status status = AssignCases(); !status) return status.error();
      if (Status status = SpawnMissing(); !status) return status.error();
    }
    if (IsIdle()) {
      if (stop_signal_ != 0) return stop_signal_;
      if (!HasCases()) return 0;
    }
    if (stop_signal_ != 0 && Clock::now() >= stop_deadline_) return stop_signal_;
    if (Status status = Poll(); !status) return status.error();
    if (Status status = CheckLimits(); !status) return status.error();
    events_.tick();
  }
}

bool WorkerPool::IsIdle() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const Worker& worker) { return worker.running.has_value(); });
}

bool WorkerPool::HasCases() const { return !no_more_cases_ || upcoming_ || !handed_back_.empty(); }

WorkerPool::Worker* WorkerPool::Find(std::uint64_t id) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [id](const Worker& w) { return w.id == id; });
  return found == workers_.end() ? nullptr : &*found;
}

Status WorkerPool::Poll() {
  std::vector<struct pollfd> files;
  const auto watch = [&files](int descriptor, bool output) {
    files.push_back({descriptor, static_cast<short>(POLLIN | (output ? POLLOUT : 0)), 0});
  };
  watch(signals_.descriptor(), false);
  watch(spawner_.control().descriptor(), spawner_.control().wants_to_send());
  watch(spawner_.error_descriptor(), false);
  for (const Worker& worker : workers_) {
    // Closed ones would report their end again and again.
    watch(worker.closed_at ? -1 : worker.channel.descriptor(), worker.channel.wants_to_send());
  }
  if (::poll(files.data(), files.size(), kPollMilliseconds) < 0 && errno != EINTR) {
    return Error{ErrorCode::kInternal, std::string("poll: ") + ::strerror(errno)};
  }
  while (const int signal = signals_.Take()) {
    const bool again = stop_signal_ != 0;
    stop_signal_ = again ? stop_signal_ : signal;
    stop_deadline_ = again ? Clock::now() : Clock::now() + kStopGrace;
  }
  spawner_.ReadErrorOutput(events_.error_output);
  // Workers first: rows that were sent before the end of a worker or of the spawner count.
  std::vector<std::uint64_t> ids;
  for (const Worker& worker : workers_) ids.push_back(worker.id);
  for (const std::uint64_t id : ids) {
    Worker* worker = Find(id);
    if (worker == nullptr || worker->closed_at) continue;
    if (Status status = ReadWorker(*worker); !status) return status;
  }
  return ReadControl();
}

Status WorkerPool::ReadControl() {
  FrameChannel& control = spawner_.control();
  const Status sent = control.Send();
  std::vector<std::string> frames;
  const Result<bool> open = control.Receive(frames);
  if (!open) return open.error();
  for (const std::string& frame : frames) {
    auto message = ParseSpawnerMessage(frame);
    if (!message) return message.error();
    if (Status status = OnSpawnerMessage(std::move(*message)); !status) return status;
  }
  if (*open && sent) return {};
  // A signal to all processes of the job ends the spawner, too, perhaps a moment before it arrives here.
  struct pollfd file = {signals_.descriptor(), POLLIN, 0};
  if (stop_signal_ == 0 && ::poll(&file, 1, kSignalDelayMilliseconds) > 0) stop_signal_ = signals_.Take();
  if (stop_signal_ != 0) {
    stop_deadline_ = Clock::now();
    return {};
  }
  // The pipe may hold the reason still.
  spawner_.ReadErrorOutput(events_.error_output);
  return Error{ErrorCode::kDevice,
               "the Python process that starts the workers has ended" +
                   (spawner_.last_error_line().empty() ? std::string(" without a word")
                                                       : ": " + Excerpt(spawner_.last_error_line()))};
}

Status WorkerPool::OnSpawnerMessage(SpawnerMessage message) {
  if (const auto* failed = std::get_if<SpawnerFailed>(&message)) {
    return Error{ErrorCode::kDevice, failed->message};
  }
  if (const auto* spawned = std::get_if<WorkerSpawned>(&message)) {
    if (Worker* worker = Find(spawned->worker); worker != nullptr && spawned->pid > 1) {
      worker->pid = spawned->pid;
      worker->pid_file = FileHandle(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(spawned->pid), 0)));
    }
    return {};
  }
  if (const auto* exited = std::get_if<WorkerExited>(&message)) return OnExited(*exited);
  return {};
}

Status WorkerPool::ReadWorker(Worker& worker) {
  // A failed send shows as the end of the socket right below.
  (void)worker.channel.Send();
  std::vector<std::string> frames;
  const Result<bool> open = worker.channel.Receive(frames);
  for (const std::string& frame : frames) {
    auto message = ParseWorkerMessage(frame);
    if (!message) return EndWorker(worker.id, message.error().message);
    if (message->is_ready) {
      worker.ready = true;
      continue;
    }
    if (!worker.running || worker.running->index != message->index) {
      return EndWorker(worker.id, "the worker process answered for another API");
    }
    worker.running.reset();
    worker.finished_a_case = true;
    failed_starts_ = 0;
    if (Status status = events_.finished(message->index, std::move(message->rows)); !status) return status;
  }
  if (!open) return EndWorker(worker.id, open.error().message);
  if (!*open) worker.closed_at = Clock::now();
  return {};
}

Status WorkerPool::OnExited(const WorkerExited& exited) {
  Worker* worker = Find(exited.worker);
  if (worker == nullptr) return {};
  if (!worker->closed_at) {
    if (Status status = ReadWorker(*worker); !status) return status;
    if (Find(exited.worker) == nullptr) return {};
  }
  if (exited.status == kDeviceLostExit && worker->running && !worker->running->handed_twice) {
    worker->running->handed_twice = true;
    handed_back_.push_back(std::move(*worker->running));
    worker->running.reset();
  }
  // These come from outside, mostly to the whole job: the case is not to blame if this process is told to stop as well.
  if (exited.signal == SIGTERM || exited.signal == SIGINT || exited.signal == SIGHUP) {
    worker->closed_at = Clock::now();
    worker->end_reason = ExitText(exited);
    return {};
  }
  return EndWorker(exited.worker, ExitText(exited));
}

/// Drops a worker; its case, if it has one, gets an error row with the reason.
Status WorkerPool::EndWorker(std::uint64_t id, const std::string& reason) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [id](const Worker& w) { return w.id == id; });
  Kill(*found);
  std::optional<PoolCase> lost = std::move(found->running);
  if (!lost && !found->finished_a_case && ++failed_starts_ >= kMaxFailedStarts && stop_signal_ == 0) {
    const std::string& line = spawner_.last_error_line();
    return Error{ErrorCode::kDevice,
                 "workers end before they take an API (" + reason + ")" + (line.empty() ? "" : ": " + Excerpt(line))};
  }
  free_devices_.push_back(found->device_id);
  workers_.erase(found);
  return lost ? events_.finished(lost->index, ErrorRows(lost->name, lost->has_backward, reason)) : Status();
}

void WorkerPool::Kill(const Worker& worker) {
  if (worker.pid_file.is_open()) {
    ::syscall(SYS_pidfd_send_signal, worker.pid_file.get(), SIGKILL, nullptr, 0);
  } else if (worker.pid > 1) {
    ::kill(static_cast<pid_t>(worker.pid), SIGKILL);
  }
}

Status WorkerPool::CheckLimits() {
  const auto now = Clock::now();
  std::vector<std::pair<std::uint64_t, std::string>> ended;
  for (const Worker& worker : workers_) {
    if (worker.closed_at && now - *worker.closed_at >= kExitNotice && stop_signal_ == 0) {
      ended.emplace_back(worker.id,
                         worker.end_reason.empty() ? "the worker process closed its connection" : worker.end_reason);
    } else if (!worker.ready && !worker.closed_at && options_.start_timeout.count() > 0 &&
               now - worker.spawned_at >= options_.start_timeout && stop_signal_ == 0) {
      // Not worth another try: the device driver hangs, or the spawner does.
      return Error{ErrorCode::kDevice, "a worker process was not ready within " + Seconds(options_.start_timeout) +
                                           "; does the device answer? MSPROBE_START_TIMEOUT sets another limit"};
    } else if (worker.running && !worker.closed_at && options_.case_timeout.count() > 0 && now >= worker.deadline) {
      ended.emplace_back(worker.id, "no result within " + Seconds(options_.case_timeout) + " (--timeout)");
    } else if (worker.running && options_.memory_limit > 0 && worker.pid > 1) {
      const std::uint64_t used = ResidentBytes(worker.pid);
      if (used <= options_.memory_limit) continue;
      ended.emplace_back(worker.id, "the worker process took " + SizeText(used) + " of memory, more than the " +
                                        SizeText(options_.memory_limit) + " of --memory-limit");
    }
  }
  for (const auto& [id, reason] : ended) {
    if (Status status = EndWorker(id, reason); !status) return status;
  }
  return {};
}

/// Fills upcoming_ if there is a case.
Status WorkerPool::FetchCase() {
  if (upcoming_) return {};
  if (!handed_back_.empty()) {
    upcoming_ = std::move(handed_back_.back());
    handed_back_.pop_back();
  } else if (!no_more_cases_) {
    auto next = events_.next_case();
    if (!next) return next.error();
    upcoming_ = std::move(*next);
    no_more_cases_ = !upcoming_.has_value();
  }
  return {};
}

Status WorkerPool::AssignCases() {
  for (Worker& worker : workers_) {
    if (!worker.ready || worker.running || worker.closed_at) continue;
    if (Status status = FetchCase(); !status) return status;
    if (!upcoming_) return {};
    worker.channel.Queue(upcoming_->message);
    worker.running = std::exchange(upcoming_, std::nullopt);
    worker.deadline = Clock::now() + options_.case_timeout;
    (void)worker.channel.Send();
  }
  return {};
}

Status WorkerPool::SpawnMissing() {
  while (!free_devices_.empty() && HasCases()) {
    const std::int64_t device_id = free_devices_.front();
    free_devices_.erase(free_devices_.begin());
    if (Status status = SpawnWorker(device_id); !status) return status;
  }
  return {};
}

Status WorkerPool::SpawnWorker(std::int64_t device_id) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return Error{ErrorCode::kInternal, std::string("cannot start a worker: ") + ::strerror(errno)};
  }
  Worker worker;
  worker.id = next_id_++;
  worker.device_id = device_id;
  worker.spawned_at = Clock::now();
  worker.channel = FrameChannel(FileHandle(sockets[0]));
  spawner_.control().Queue(SpawnMessage(worker.id, device_id), FileHandle(sockets[1]));
  // A failed send shows as the spawner's end at the next poll.
  (void)spawner_.control().Send();
  workers_.push_back(std::move(worker));
  return {};
}

}  // namespace msprobe
