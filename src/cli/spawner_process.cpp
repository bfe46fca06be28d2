#include "cli/spawner_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/child_environment.h"

namespace msprobe {
namespace {

constexpr std::chrono::seconds kExitGrace{5};
constexpr std::size_t kMaxLineBytes = 1U << 16U;

Error StartError(const std::string& python, int error) {
  return Error{ErrorCode::kDevice, "cannot start " + Printable(python) + ": " + ::strerror(error) +
                                       "; name a Python interpreter with --python"};
}

/// posix_spawn with descriptor 3 = control, stdout = /dev/null, stderr = error_output, a process group of its own and
/// no signal blocked or ignored. Returns errno.
int Spawn(const std::string& python, int control, int error_output, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, error_output, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, control, SpawnerProcess::kControlDescriptor);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> arguments{python, "-m", "msprobe.pytorch.worker", "--control-fd",
                                     std::to_string(SpawnerProcess::kControlDescriptor)};
  std::vector<std::string> variables = ChildEnvironment();
  const int error = ::posix_spawnp(pid, python.c_str(), &actions, &attributes, ExecPointers(arguments).data(),
                                   ExecPointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

std::string SignalText(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return "signal " + std::to_string(signal) + (name != nullptr ? std::string(" (SIG") + name + ")" : "");
}

Result<SpawnerProcess> SpawnerProcess::Start(const std::string& python) {
  int sockets[2];
  int errors[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return StartError(python, errno);
  FileHandle parent_end(sockets[0]);
  FileHandle child_end(sockets[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return StartError(python, errno);
  FileHandle error_read(errors[0]);
  FileHandle error_write(errors[1]);
  ::fcntl(error_read.get(), F_SETFL, O_NONBLOCK);
  // Descriptors in the child's fixed places would be overwritten before they are copied: move them up.
  for (FileHandle* handle : {&child_end, &error_write}) {
    if (handle->get() > kControlDescriptor) continue;
    FileHandle moved(::fcntl(handle->get(), F_DUPFD_CLOEXEC, kControlDescriptor + 1));
    if (!moved.is_open()) return StartError(python, errno);
    *handle = std::move(moved);
  }
  SpawnerProcess process;
  const int error = Spawn(python, child_end.get(), error_write.get(), &process.pid_);
  if (error != 0) {
    process.pid_ = -1;
    return StartError(python, error);
  }
  process.control_ = FrameChannel(std::move(parent_end));
  process.error_output_ = std::move(error_read);
  return process;
}

SpawnerProcess::SpawnerProcess(SpawnerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      control_(std::move(other.control_)),
      error_output_(std::move(other.error_output_)),
      error_text_(std::move(other.error_text_)),
      last_error_line_(std::move(other.last_error_line_)) {}

SpawnerProcess::~SpawnerProcess() {
  if (pid_ < 0) return;
  control_.Close();
  error_output_ = FileHandle();
  const auto deadline = std::chrono::steady_clock::now() + kExitGrace;
  while (HowItEnded().empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The process is not reaped yet, so its group cannot be that of somebody else.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

void SpawnerProcess::ReadErrorOutput(const std::function<void(const std::string&)>& line) {
  const auto take = [&](std::string text) {
    while (!text.empty() && text.back() == '\r') text.pop_back();
    if (!Trim(text).empty()) last_error_line_ = std::string(Trim(text));
    line(text);
  };
  char buffer[4096];
  while (error_output_.is_open()) {
    const ssize_t count = ::read(error_output_.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (count == 0) {
      error_output_ = FileHandle();
      if (!error_text_.empty()) take(std::exchange(error_text_, {}));
      return;
    }
    error_text_.append(buffer, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (auto end = error_text_.find('\n'); end != std::string::npos; end = error_text_.find('\n', begin)) {
      take(error_text_.substr(begin, end - begin));
      begin = end + 1;
    }
    error_text_.erase(0, begin);
    if (error_text_.size() > kMaxLineBytes) take(std::exchange(error_text_, {}));
  }
}

std::string SpawnerProcess::HowItEnded() const {
  siginfo_t info = {};
  if (pid_ < 0 || ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return "it is gone";
  if (info.si_pid == 0) return "";
  if (info.si_code == CLD_EXITED) return "exit code " + std::to_string(info.si_status);
  return SignalText(info.si_status);
}

}  // namespace msprobe
