#include "record/recover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/file_handle.h"
#include "base/text.h"
#include "record/element_parser.h"
#include "record/json_file_scanner.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMaxValueBytes = 1U << 30U;

/// Finds the last complete member: of the object "data" while inside it, else of the whole object.
class LastMember {
 public:
  explicit LastMember(JsonFileScanner& scanner) : scanner_(scanner) {}

  /// Whether the whole text is well formed.
  bool Find() {
    end_ = scanner_.offset() + 1;
    const bool complete = scanner_.ForEachMember([this](std::string& key) {
      if (key == "data" && scanner_.PeekToken() == '{') return Data();
      return Value();
    });
    if (complete) {
      end_ = scanner_.offset();
      closing_ = "\n";
    }
    return complete && scanner_.AtEnd();
  }

  std::uint64_t end() const { return end_; }
  std::string_view closing() const { return closing_; }
  std::size_t members() const { return has_data_ ? records_ : complete_; }

 private:
  bool Data() {
    has_data_ = true;
    end_ = scanner_.offset() + 1;
    closing_ = "\n }\n}\n";
    const bool complete = scanner_.ForEachMember([this](std::string&) {
      if (!Value()) return false;
      ++records_;
      return true;
    });
    if (!complete) return false;
    end_ = scanner_.offset();
    closing_ = "\n}\n";
    return true;
  }

  /// Brackets that match are not enough here: other tools shall read the file.
  bool Value() {
    std::string_view text;
    if (!scanner_.ReadValue(kMaxValueBytes, text)) return false;
    if (text.data() == nullptr) return scanner_.Fail("a value is longer than 1 GiB");
    if (const auto value = parser_.ParseElement(text); !value.ok()) {
      return scanner_.Fail(value.error().message + " of the value that ends");
    }
    end_ = scanner_.offset();
    if (!has_data_) ++complete_;
    return true;
  }

  JsonFileScanner& scanner_;
  ElementParser parser_;
  std::uint64_t end_ = 0;
  std::string_view closing_ = "\n}\n";
  bool has_data_ = false;
  std::size_t records_ = 0;
  std::size_t complete_ = 0;
};

Status CutAndClose(int descriptor, std::uint64_t end, std::string_view closing, const std::string& path) {
  // Over the torn bytes first, which need no space; only then is the rest cut off.
  std::uint64_t offset = end;
  for (std::string_view rest = closing; !rest.empty();) {
    const ssize_t written = ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemError(ErrorCode::kOutput, "write", path, written < 0 ? errno : ENOSPC);
    rest.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  if (::ftruncate(descriptor, static_cast<off_t>(offset)) != 0) {
    return SystemError(ErrorCode::kOutput, "cut", path, errno);
  }
  return {};
}

}  // namespace

Result<RecoveredFile> RecoverJsonFile(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return SystemError(ErrorCode::kInput, "open", path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{ErrorCode::kInput, Printable(path) + " is still being written; wait for the process to end"};
  }
  auto scanner = JsonFileScanner::Open(path);
  if (!scanner.ok()) return scanner.error();
  if (scanner->PeekToken() != '{') {
    if (!scanner->status().ok()) return scanner->status().error();
    return Error{ErrorCode::kInput, Printable(path) + " is not a JSON object; a file of a dump is expected"};
  }
  LastMember last(*scanner);
  const bool whole = last.Find();
  if (!scanner->status().ok()) return scanner->status().error();
  RecoveredFile recovered;
  recovered.members = last.members();
  if (whole) return recovered;
  recovered.was_torn = true;
  recovered.break_text = scanner->problem();
  if (Status closed = CutAndClose(file.get(), last.end(), last.closing(), path); !closed.ok()) return closed.error();
  return recovered;
}

}  // namespace msprobe
