#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/frame_channel.h"
#include "cli/worker_protocol.h"

namespace msprobe {

/// The Python process that imports the framework once and forks workers. It gets the control socket as descriptor 3,
/// its stdout goes to /dev/null, its stderr comes here line by line. It has a process group of its own, so that Ctrl-C
/// reaches the command alone and whatever it started can be ended with it.
class SpawnerProcess {
 public:
  static constexpr int kControlDescriptor = 3;

  /// Starts `python -m msprobe.pytorch.worker --control-fd 3`.
  static Result<SpawnerProcess> Start(const std::string& python);

  SpawnerProcess(SpawnerProcess&& other) noexcept;
  SpawnerProcess& operator=(SpawnerProcess&&) = delete;
  ~SpawnerProcess();  ///< closes the control socket, waits a moment, then ends the whole group

  FrameChannel& control() { return control_; }
  int error_descriptor() const { return error_output_.get(); }  ///< -1 once it is closed

  /// Takes what has come on stderr; `line` is called for each complete line. Lines are remembered for LastErrorLine.
  void ReadErrorOutput(const std::function<void(const std::string&)>& line);

  /// The last line on stderr that is not blank; for the message of a process that has died.
  const std::string& last_error_line() const { return last_error_line_; }

  /// How the process ended, once it has, in words; "" while it runs. Does not reap it.
  std::string HowItEnded() const;

 private:
  SpawnerProcess() = default;

  int pid_ = -1;
  FrameChannel control_;
  FileHandle error_output_;
  std::string error_text_;
  std::string last_error_line_;
};

/// "signal 11 (SIGSEGV)".
std::string SignalText(int signal);

}  // namespace msprobe
