#include "base/new_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace msprobe {
namespace {

constexpr std::size_t kBufferSize = 1U << 18U;
constexpr mode_t kFileMode = 0640;
constexpr const char* kTemporaryName = ".msprobe_new_XXXXXX";
constexpr int kMostTries = 1000;

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : file_(std::move(other.file_)),
      folder_(std::move(other.folder_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      buffer_(std::move(other.buffer_)) {}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  if (this != &other) {
    Discard();
    file_ = std::move(other.file_);
    folder_ = std::move(other.folder_);
    temporary_path_ = std::exchange(other.temporary_path_, {});
    buffer_ = std::move(other.buffer_);
  }
  return *this;
}

NewFile::~NewFile() { Discard(); }

void NewFile::Discard() {
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
  file_ = FileHandle();
}

Result<NewFile> NewFile::Create(const std::string& folder) {
  NewFile created;
  created.folder_ = folder;
  created.file_ = FileHandle(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kFileMode));
  // Publishing it goes through /proc.
  if (created.file_.is_open() && ::access("/proc/self/fd", X_OK) != 0) created.file_ = FileHandle();
  if (!created.file_.is_open()) {
    std::string name = JoinPath(folder, kTemporaryName);
    // mkostemp opens with O_EXCL: a link planted under the name is never followed.
    created.file_ = FileHandle(::mkostemp(name.data(), O_CLOEXEC));
    if (!created.file_.is_open()) return SystemError(ErrorCode::kOutput, "create a file in", folder, errno);
    created.temporary_path_ = name;
  }
  if (::fchmod(created.file_.get(), kFileMode) != 0) {
    return SystemError(ErrorCode::kOutput, "set the mode of a file in", folder, errno);
  }
  return created;
}

Status NewFile::Append(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBufferSize ? Status() : Flush();
}

Status NewFile::Flush() {
  Status written = WriteAll(file_, buffer_.data(), buffer_.size(), folder_);
  buffer_.clear();
  return written;
}

// 0 or an error number.
int NewFile::LinkTo(const std::string& path) const {
  if (temporary_path_.empty()) {
    const std::string source = "/proc/self/fd/" + std::to_string(file_.get());
    return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  }
  if (::link(temporary_path_.c_str(), path.c_str()) == 0) return 0;
  if (errno == EEXIST) return EEXIST;
  // File systems without hard links get the kernel's rename that never replaces.
  return ::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

Status NewFile::Publish(const std::string& path) {
  if (Status flushed = Flush(); !flushed.ok()) return flushed;
  // A rename needs a name to start from.
  for (int tried = 0; temporary_path_.empty() && tried < kMostTries; ++tried) {
    const std::string name =
        JoinPath(folder_, ".msprobe_new_" + std::to_string(::getpid()) + "_" + std::to_string(tried));
    const int error = LinkTo(name);
    if (error == 0) temporary_path_ = name;
    if (error != 0 && error != EEXIST) return SystemError(ErrorCode::kOutput, "write", path, error);
  }
  if (::rename(temporary_path_.c_str(), path.c_str()) != 0) {
    return SystemError(ErrorCode::kOutput, "write", path, errno);
  }
  temporary_path_.clear();
  file_ = FileHandle();
  return {};
}

Result<bool> NewFile::PublishIfAbsent(const std::string& path) {
  if (Status flushed = Flush(); !flushed.ok()) return flushed.error();
  const int error = LinkTo(path);
  if (error == EEXIST) return false;
  if (error != 0) return SystemError(ErrorCode::kOutput, "write", path, error);
  Discard();
  return true;
}

}  // namespace msprobe
