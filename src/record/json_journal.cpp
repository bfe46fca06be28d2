#include "record/json_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "record/json_writer.h"

namespace msprobe {
namespace {

constexpr mode_t kFileMode = 0640;

/// A buffer that a burst has grown beyond this is given back after the flush.
constexpr std::size_t kKeptCapacity = 8U << 20U;

/// 0, or the errno of the write that failed; what fits before the failure is in the file then.
int WriteAt(int descriptor, std::string_view text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(descriptor, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

}  // namespace

Result<JsonJournal> JsonJournal::Create(const std::string& path, std::string head, std::string tail,
                                        std::string indent) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return SystemError(ErrorCode::kOutput, "create", path, errno);
  JsonJournal journal;
  journal.file_ = FileHandle(descriptor);
  // Tells RecoverJsonFile that somebody writes here; a file system without locks does without.
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  const std::string skeleton = head + tail;
  if (const int error = WriteAt(descriptor, skeleton, 0); error != 0) {
    ::unlink(path.c_str());
    return SystemError(ErrorCode::kOutput, "write", path, error);
  }
  journal.path_ = path;
  journal.end_ = head.size();
  journal.tail_ = std::move(tail);
  journal.indent_ = std::move(indent);
  return journal;
}

void JsonJournal::Add(std::string_view name, std::string_view value) {
  buffer_.append(has_members_ || !buffer_.empty() ? ",\n" : "\n");
  buffer_.append(indent_);
  AppendJsonString(buffer_, name);
  buffer_.append(": ");
  buffer_.append(value);
}

Status JsonJournal::Flush() {
  if (buffer_.empty()) return {};
  const std::size_t member_bytes = buffer_.size();
  buffer_ += tail_;
  const int error = WriteAt(file_.get(), buffer_, end_);
  buffer_.resize(member_bytes);
  if (error != 0) {
    // The old tail's bytes are allocated, so writing them needs no space; only then is the rest cut off. Should even
    // that fail the file is torn behind the last complete member, which every reader tolerates.
    WriteAt(file_.get(), tail_, end_);
    if (::ftruncate(file_.get(), static_cast<off_t>(end_ + tail_.size())) != 0) {
      return SystemError(ErrorCode::kOutput, "write and then cut back", path_, error);
    }
    return SystemError(ErrorCode::kOutput, "write", path_, error);
  }
  end_ += member_bytes;
  has_members_ = true;
  if (buffer_.capacity() > kKeptCapacity) {
    std::string().swap(buffer_);
  } else {
    buffer_.clear();
  }
  return {};
}

Status JsonJournal::OverwriteHead(std::uint64_t offset, std::string_view text) {
  const int error = WriteAt(file_.get(), text, offset);
  return error == 0 ? Status() : SystemError(ErrorCode::kOutput, "write", path_, error);
}

}  // namespace msprobe
