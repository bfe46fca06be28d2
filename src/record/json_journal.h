#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// A JSON file that is its own journal (spec decisions 14): members are appended and the closing text written again
/// behind them, in one write per flush. After kill -9 the file is valid, or torn behind the last complete member. A
/// short write (disk full) is cut back to the old end and the old tail rewritten; the members stay buffered and the
/// error is returned. Cost is linear in the number of members; memory holds only what is not flushed.
class JsonJournal {
 public:
  /// Creates the file (0640, not through a symbolic link, never over an existing file) holding `head + tail`; members
  /// go between, each on its own line: `indent` + "name": value. `head` ends with the opening brace.
  static Result<JsonJournal> Create(const std::string& path, std::string head, std::string tail, std::string indent);

  /// Buffers one member; `value` is JSON text without line breaks.
  void Add(std::string_view name, std::string_view value);
  std::size_t buffered_bytes() const { return buffer_.size(); }
  Status Flush();
  /// Replaces bytes of the head by as many others.
  Status OverwriteHead(std::uint64_t offset, std::string_view text);
  /// Closes the file, and with it the lock, without flushing; nothing may follow.
  void Close() { file_ = FileHandle(); }

  JsonJournal(JsonJournal&& other) noexcept = default;
  JsonJournal& operator=(JsonJournal&& other) noexcept = default;
  ~JsonJournal() = default;  ///< closes without flushing

 private:
  JsonJournal() = default;

  FileHandle file_;
  std::string path_;
  std::string tail_;
  std::string indent_;
  std::string buffer_;
  std::uint64_t end_ = 0;  // file offset of the tail
  bool has_members_ = false;
};

}  // namespace msprobe
