#include "record/json_file_scanner.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "record/json_text.h"

namespace msprobe {
namespace {

constexpr std::size_t kChunk = 256U << 10U;

/// Names and keys are short; a longer one is no dump.
constexpr std::uint64_t kMaxStringBytes = 1U << 20U;

enum ByteClass : std::uint8_t { kOther, kQuote, kOpen, kClose, kControl };

constexpr std::array<std::uint8_t, 256> kOutsideStrings = [] {
  std::array<std::uint8_t, 256> classes{};
  for (std::size_t c = 0; c < 0x20; ++c) classes[c] = kControl;
  classes['\t'] = classes['\n'] = classes['\r'] = kOther;
  classes['"'] = kQuote;
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  return classes;
}();

/// What a scan for the end of a string must stop at.
constexpr std::array<bool, 256> kStopsInString = [] {
  std::array<bool, 256> stops{};
  for (std::size_t c = 0; c < 0x20; ++c) stops[c] = true;
  stops['"'] = stops['\\'] = true;
  return stops;
}();

bool IsScalarByte(int c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' || c == '.';
}

}  // namespace

JsonFileScanner::JsonFileScanner(FileHandle file, std::string path)
    : file_(std::move(file)),
      path_(std::move(path)),
      buffer_(std::make_unique_for_overwrite<char[]>(2 * kChunk)),
      capacity_(2 * kChunk),
      next_(buffer_.get()),
      end_(buffer_.get()) {}

Result<JsonFileScanner> JsonFileScanner::Open(const std::string& path) {
  auto file = OpenInputFile(path);
  if (!file.ok()) return file.error();
  JsonFileScanner scanner(std::move(*file), path);
  // A byte order mark is tolerated.
  if (scanner.Refill() && scanner.end_ - scanner.next_ >= 3 && std::memcmp(scanner.next_, "\xEF\xBB\xBF", 3) == 0) {
    scanner.next_ += 3;
  }
  if (!scanner.status_.ok()) return scanner.status_.error();
  return scanner;
}

/// Only called when everything in the buffer is consumed; false at the end of the file.
bool JsonFileScanner::Refill() {
  if (kept_ != nullptr && static_cast<std::uint64_t>(end_ - kept_) > kept_limit_) kept_ = nullptr;
  const std::size_t kept = kept_ == nullptr ? 0 : static_cast<std::size_t>(end_ - kept_);
  base_ += static_cast<std::uint64_t>(end_ - buffer_.get()) - kept;
  if (capacity_ - kept < kChunk) {
    const std::size_t capacity = 2 * (kept + kChunk);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    std::memcpy(larger.get(), kept_, kept);
    buffer_ = std::move(larger);
    capacity_ = capacity;
  } else if (kept > 0) {
    std::memmove(buffer_.get(), kept_, kept);
  }
  if (kept_ != nullptr) kept_ = buffer_.get();
  char* const fresh = buffer_.get() + kept;
  next_ = fresh;
  end_ = fresh;
  if (!status_.ok()) return false;
  const auto size = ReadSome(file_, fresh, capacity_ - kept, path_);
  if (!size.ok()) {
    status_ = size.error();
    return false;
  }
  end_ += *size;
  return *size > 0;
}

bool JsonFileScanner::Fail(std::string_view problem) {
  problem_ = std::string(problem) + " at byte " + std::to_string(offset());
  return false;
}

int JsonFileScanner::PeekToken() {
  for (;;) {
    while (next_ < end_ && (*next_ == ' ' || *next_ == '\n' || *next_ == '\r' || *next_ == '\t')) ++next_;
    if (next_ < end_) return static_cast<unsigned char>(*next_);
    if (!Refill()) return -1;
  }
}

bool JsonFileScanner::SkipString() {
  const char* p = next_ + 1;
  for (;;) {
    while (p < end_ && !kStopsInString[static_cast<unsigned char>(*p)]) ++p;
    next_ = p;
    if (p == end_) {
      if (!Refill()) return Fail("the text ends inside a string");
    } else if (*p == '"') {
      ++next_;
      return true;
    } else if (*p == '\\') {
      ++next_;
      if (next_ == end_ && !Refill()) return Fail("the text ends inside a string");
      ++next_;  // whatever is escaped, the four digits behind a 'u' are ordinary
    } else {
      return Fail("a control character stands inside a string");
    }
    p = next_;
  }
}

bool JsonFileScanner::SkipContainer() {
  std::uint64_t depth = 0;
  for (;;) {
    const char* p = next_;
    while (p < end_ && kOutsideStrings[static_cast<unsigned char>(*p)] == kOther) ++p;
    next_ = p;
    if (p == end_) {
      if (!Refill()) return Fail("the text ends inside a value");
      continue;
    }
    switch (kOutsideStrings[static_cast<unsigned char>(*p)]) {
      case kQuote:
        if (!SkipString()) return false;
        break;
      case kOpen:
        ++depth;
        ++next_;
        break;
      case kClose:
        ++next_;
        if (--depth == 0) return true;
        break;
      default:
        return Fail("a control character stands between values");
    }
  }
}

bool JsonFileScanner::SkipScalar() {
  bool any = false;
  for (;;) {
    while (next_ < end_ && IsScalarByte(static_cast<unsigned char>(*next_))) {
      ++next_;
      any = true;
    }
    if (next_ < end_) return any || Fail("a value is expected");
    if (!Refill()) return Fail("the text ends inside a value");
  }
}

bool JsonFileScanner::SkipValue() {
  switch (PeekToken()) {
    case '"':
      return SkipString();
    case '{':
    case '[':
      return SkipContainer();
    case -1:
      return Fail("the text ends where a value is expected");
    default:
      return SkipScalar();
  }
}

bool JsonFileScanner::ReadValue(std::uint64_t limit, std::string_view& text) {
  PeekToken();
  kept_ = next_;
  kept_limit_ = limit;
  const bool complete = SkipValue();
  text = {};
  if (complete && kept_ != nullptr && static_cast<std::uint64_t>(next_ - kept_) <= limit) {
    text = {kept_, static_cast<std::size_t>(next_ - kept_)};
  }
  kept_ = nullptr;
  return complete;
}

bool JsonFileScanner::ReadString(std::string& out) {
  if (PeekToken() != '"') return Fail("a string is expected");
  const std::uint64_t start = offset();
  std::string_view text;
  if (!ReadValue(kMaxStringBytes, text)) return false;
  if (text.data() == nullptr) return Fail("a name is longer than 1 MiB");
  JsonText decoder(text);
  if (decoder.ReadString(out)) return true;
  problem_ = std::string(decoder.problem()) + " at byte " + std::to_string(start + decoder.position());
  return false;
}

}  // namespace msprobe
