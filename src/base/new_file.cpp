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

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : file_(std::move(other.file_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      buffer_(std::move(other.buffer_)) {}

NewFile& NewFile::operator=(NewFile&& other) noexcept {
  if (this != &other) {
    Discard();
    file_ = std::move(other.file_);
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
  std::string name = JoinPath(folder, ".msprobe_new_XXXXXX");
  // mkostemp opens with O_EXCL and mode 0600: a link planted under the name is never followed.
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return SystemError(ErrorCode::kOutput, "create a file in", folder, errno);
  created.file_ = FileHandle(descriptor);
  created.temporary_path_ = name;
  if (::fchmod(descriptor, kFileMode) != 0) return SystemError(ErrorCode::kOutput, "set the mode of", name, errno);
  return created;
}

Status NewFile::Append(std::string_view text) {
  buffer_ += text;
  return buffer_.size() < kBufferSize ? Status() : Flush();
}

Status NewFile::Flush() {
  Status written = WriteAll(file_, buffer_.data(), buffer_.size(), temporary_path_);
  buffer_.clear();
  return written;
}

Status NewFile::Publish(const std::string& path) {
  if (Status flushed = Flush(); !flushed.ok()) return flushed;
  if (::rename(temporary_path_.c_str(), path.c_str()) != 0) {
    return SystemError(ErrorCode::kOutput, "write", path, errno);
  }
  temporary_path_.clear();
  file_ = FileHandle();
  return {};
}

Result<bool> NewFile::PublishIfAbsent(const std::string& path) {
  if (Status flushed = Flush(); !flushed.ok()) return flushed.error();
  // A hard link fails where the name exists; file systems without links get the kernel's rename that never replaces.
  if (::link(temporary_path_.c_str(), path.c_str()) == 0) {
    Discard();
    return true;
  }
  if (errno == EEXIST) return false;
  if (::renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return false;
    return SystemError(ErrorCode::kOutput, "write", path, errno);
  }
  temporary_path_.clear();
  file_ = FileHandle();
  return true;
}

}  // namespace msprobe
