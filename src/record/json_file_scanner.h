#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// Walks over the JSON text of a file of any size, chunk by chunk (a mapped file that somebody cuts would end the
/// process). Values are stepped over without being built: brackets are counted, strings recognised, and raw control
/// characters, which JSON forbids and a torn page holds, are found. Grammar inside a value is left to the element
/// parser.
///
/// A function that returns false leaves at the break; `problem()` says what and at which byte.
class JsonFileScanner {
 public:
  static Result<JsonFileScanner> Open(const std::string& path);

  /// Skips white space; the next byte, or -1 at the end of the file.
  int PeekToken();
  void Advance() { ++next_; }

  /// Offset in the file of the next byte.
  std::uint64_t offset() const { return base_ + static_cast<std::uint64_t>(next_ - buffer_.get()); }

  /// Steps over a string and decodes it.
  bool ReadString(std::string& out);

  /// Steps over the value at the next byte. A number or word that ends with the file is not complete.
  bool SkipValue();

  /// As SkipValue; `text` is the value until the next call, or has no data when it is longer than `limit`.
  bool ReadValue(std::uint64_t limit, std::string_view& text);

  /// Walks over the object at the next byte, which is '{'; `member(std::string& key)` steps over the value.
  template <typename Member>
  bool ForEachMember(Member&& member);

  /// Whether the file holds nothing more.
  bool AtEnd() { return PeekToken() == -1 || Fail("more text follows the end"); }

  /// Remembers that the text breaks here.
  bool Fail(std::string_view problem);
  const std::string& problem() const { return problem_; }

  /// Not ok after the file could not be read.
  const Status& status() const { return status_; }

 private:
  explicit JsonFileScanner(FileHandle file, std::string path);

  bool Refill();
  bool SkipString();
  bool SkipContainer();
  bool SkipScalar();

  FileHandle file_;
  std::string path_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t base_ = 0;      // file offset of the buffer's first byte
  const char* kept_ = nullptr;  // refilling keeps what lies from here on; null: nothing
  std::uint64_t kept_limit_ = 0;
  Status status_;
  std::string problem_;
};

template <typename Member>
bool JsonFileScanner::ForEachMember(Member&& member) {
  Advance();
  if (PeekToken() == '}') {
    Advance();
    return true;
  }
  std::string key;
  for (;;) {
    if (!ReadString(key)) return false;
    if (PeekToken() != ':') return Fail("a ':' is expected");
    Advance();
    if (!member(key)) return false;
    const int next = PeekToken();
    if (next == -1) return Fail("the text ends inside an object");
    if (next != ',' && next != '}') return Fail("a ',' or '}' is expected");
    Advance();
    if (next == '}') return true;
  }
}

}  // namespace msprobe
