#include "cli/console.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kSparse{10};

void Write(std::FILE* stream, const std::string& text) {
  ::fwrite(text.data(), 1, text.size(), stream);
  ::fflush(stream);
}

std::string Now() {
  const time_t now = ::time(nullptr);
  struct tm parts = {};
  ::localtime_r(&now, &parts);
  char text[32] = {};
  ::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// "12.3 APIs/s"; per minute where it is less than one a second.
std::string Rate(double per_second) {
  char text[48] = {};
  if (per_second >= 1.0 || per_second <= 0.0) {
    ::snprintf(text, sizeof(text), "%.1f APIs/s", per_second);
  } else {
    ::snprintf(text, sizeof(text), "%.1f APIs/min", per_second * 60.0);
  }
  return text;
}

}  // namespace

Console::Console() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}
Console::~Console() { ClearBar(); }

void Console::Info(std::string_view text) { Log(stdout, "INFO", text); }
void Console::Warning(std::string_view text) { Log(stdout, "WARNING", text); }
void Console::Error(std::string_view text) { Log(stderr, "ERROR", text); }

void Console::Line(std::string_view text) {
  ClearBar();
  Write(stdout, std::string(text) + "\n");
}

void Console::ErrorLine(std::string_view text) {
  ClearBar();
  Write(stderr, std::string(text) + "\n");
}

void Console::Log(std::FILE* stream, std::string_view level, std::string_view text) {
  ClearBar();
  Write(stream, Now() + " (" + std::to_string(::getpid()) + ") [" + std::string(level) + "] " + Printable(text) + "\n");
}

void Console::StartProgress(std::size_t total, std::size_t done) {
  total_ = total;
  first_ = done_ = drawn_ = done;
  active_ = true;
  start_ = last_draw_ = Clock::now();
  if (is_terminal_) Draw();
}

void Console::UpdateProgress(std::size_t done) {
  done_ = done;
  if (!active_) return;
  const auto now = Clock::now();
  const bool due = is_terminal_ ? now - last_draw_ >= kRedraw : now - last_draw_ >= kSparse && done_ != drawn_;
  if (due || (is_terminal_ && !bar_shown_)) Draw();
}

void Console::EndProgress() {
  if (!active_) return;
  active_ = false;
  if (done_ != first_ || is_terminal_) Draw();
  if (is_terminal_) Write(stderr, "\n");
  bar_shown_ = false;
}

void Console::Draw() {
  last_draw_ = Clock::now();
  drawn_ = done_;
  const double seconds = std::chrono::duration<double>(last_draw_ - start_).count();
  const double rate = seconds > 0.0 ? static_cast<double>(done_ - first_) / seconds : 0.0;
  const std::size_t percent = total_ == 0 ? 100 : done_ * 100 / total_;
  std::string text =
      std::to_string(done_) + "/" + std::to_string(total_) + " " + std::to_string(percent) + "% " + Rate(rate);
  if (!is_terminal_) {
    Write(stderr, "checked " + text + "\n");
    return;
  }
  constexpr std::size_t kWidth = 30;
  const std::size_t filled = total_ == 0 ? kWidth : std::min(kWidth, done_ * kWidth / total_);
  Write(stderr, "\r\x1b[K[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "] " + text);
  bar_shown_ = true;
}

void Console::ClearBar() {
  if (!bar_shown_) return;
  Write(stderr, "\r\x1b[K");
  bar_shown_ = false;
}

}  // namespace msprobe
