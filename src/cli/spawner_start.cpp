#include "cli/spawner_start.h"

#include <poll.h>

#include <thread>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr int kPollMilliseconds = 200;
constexpr int kLastWordsMilliseconds = 1000;
constexpr int kExitPolls = 100;  // of 10 ms
constexpr std::size_t kMaxLines = 200;

ErrorCode CodeOf(const std::string& code) { return code == "input" ? ErrorCode::kInput : ErrorCode::kDevice; }

Error Ended(SpawnerProcess& spawner) {
  // The socket may close a moment before the last line on stderr is there.
  struct pollfd file = {spawner.error_descriptor(), POLLIN, 0};
  while (spawner.error_descriptor() >= 0 && ::poll(&file, 1, kLastWordsMilliseconds) > 0) {
    spawner.ReadErrorOutput([](const std::string&) {});
    file.fd = spawner.error_descriptor();
  }
  std::string how = spawner.HowItEnded();
  for (int i = 0; how.empty() && i < kExitPolls; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    how = spawner.HowItEnded();
  }
  const std::string& line = spawner.last_error_line();
  return Error{ErrorCode::kDevice, "the Python process ended before it was ready" +
                                       (how.empty() ? "" : " (" + how + ")") +
                                       (line.empty() ? "" : ": " + Excerpt(line))};
}

}  // namespace

Result<SpawnerStart> GreetSpawner(SpawnerProcess& spawner, StopSignals& signals, const WorkerSettings& settings,
                                  std::chrono::seconds timeout) {
  SpawnerStart start;
  const auto keep_line = [&start](const std::string& line) {
    if (start.error_output.size() < kMaxLines) start.error_output.push_back(line);
  };
  FrameChannel& control = spawner.control();
  control.Queue(SettingsMessage(settings));
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    const bool sent = control.Send().ok();
    struct pollfd files[] = {
        {control.descriptor(), static_cast<short>(POLLIN | (control.wants_to_send() ? POLLOUT : 0)), 0},
        {spawner.error_descriptor(), POLLIN, 0},
        {signals.descriptor(), POLLIN, 0}};
    if (sent) ::poll(files, 3, kPollMilliseconds);
    spawner.ReadErrorOutput(keep_line);
    start.stop_signal = signals.Take();
    if (start.stop_signal != 0) return start;
    std::vector<std::string> frames;
    const Result<bool> open = control.Receive(frames);
    if (!open) return open.error();
    if (!frames.empty()) {
      auto message = ParseSpawnerMessage(frames[0]);
      if (!message) return message.error();
      if (const auto* failed = std::get_if<SpawnerFailed>(&*message)) {
        return Error{CodeOf(failed->code), failed->message};
      }
      auto* hello = std::get_if<SpawnerHello>(&*message);
      if (hello == nullptr) return Error{ErrorCode::kInternal, "the Python process did not introduce itself"};
      start.hello = std::move(*hello);
      return start;
    }
    if (!*open || !sent) return Ended(spawner);
  }
  return Error{ErrorCode::kDevice,
               "the Python process was not ready within " + std::to_string(timeout.count()) +
                   " s; does `python -c \"import torch\"` work there? MSPROBE_START_TIMEOUT sets another limit"};
}

}  // namespace msprobe
