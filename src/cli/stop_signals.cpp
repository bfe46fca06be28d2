#include "cli/stop_signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace msprobe {
namespace {

sigset_t StopSet() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = StopSet();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  file_ = FileHandle(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

StopSignals::~StopSignals() {
  // What has been taken up is not delivered again; a pending one ends the process by its default action.
  const sigset_t set = StopSet();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

int StopSignals::Take() {
  struct signalfd_siginfo info = {};
  if (!file_.is_open() || ::read(file_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace msprobe
