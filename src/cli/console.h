#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace msprobe {

/// What the commands print. Log lines (accuracy_checker.md 1): `<time> (<pid>) [<level>] <text>`, information and
/// warnings on stdout, errors on stderr; one line each, control characters replaced. A progress bar on stderr: redrawn
/// in place on a terminal, else a line every ten seconds.
class Console {
 public:
  Console();
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void Info(std::string_view text);
  void Warning(std::string_view text);
  void Error(std::string_view text);
  void Line(std::string_view text);       ///< on stdout, without a prefix
  void ErrorLine(std::string_view text);  ///< on stderr, without a prefix

  /// `done` of `total` are there when the bar begins; the rate counts from there.
  void StartProgress(std::size_t total, std::size_t done);
  void UpdateProgress(std::size_t done);
  void EndProgress();

 private:
  using Clock = std::chrono::steady_clock;

  void Log(std::FILE* stream, std::string_view level, std::string_view text);
  void ClearBar();
  void Draw();

  bool is_terminal_ = false;
  bool bar_shown_ = false;
  bool active_ = false;
  std::size_t total_ = 0;
  std::size_t first_ = 0;
  std::size_t done_ = 0;
  std::size_t drawn_ = 0;
  Clock::time_point start_;
  Clock::time_point last_draw_;
};

}  // namespace msprobe
