#include "record/new_tensor_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace msprobe {
namespace {

constexpr mode_t kFileMode = 0640;

/// A name that a process of the same number may have left is passed over.
constexpr int kMaxAttempts = 1000;

std::atomic<std::uint64_t> next_number{0};

}  // namespace

NewTensorFile::NewTensorFile(FileHandle file, std::string temporary_path, std::string path)
    : file_(std::move(file)), temporary_path_(std::move(temporary_path)), path_(std::move(path)) {}

NewTensorFile::NewTensorFile(NewTensorFile&& other) noexcept
    : file_(std::move(other.file_)),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      path_(std::move(other.path_)) {}

NewTensorFile::~NewTensorFile() {
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

Result<NewTensorFile> NewTensorFile::Create(const std::string& path) {
  const std::string start = JoinPath(ParentPath(path), ".msprobe_" + std::to_string(::getpid()) + "_");
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::string temporary = start + std::to_string(next_number++) + ".tmp";
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
    if (descriptor >= 0) return NewTensorFile(FileHandle(descriptor), std::move(temporary), path);
    if (errno != EEXIST) return SystemError(ErrorCode::kOutput, "create", path, errno);
  }
  return SystemError(ErrorCode::kOutput, "create", path, EEXIST);
}

Status NewTensorFile::Write(std::string_view first, std::string_view second, std::string_view third) {
  std::array<std::string_view, 3> pieces = {first, second, third};
  for (;;) {
    std::array<iovec, 3> vectors;
    int count = 0;
    for (const std::string_view piece : pieces) {
      if (!piece.empty()) vectors[static_cast<std::size_t>(count++)] = {const_cast<char*>(piece.data()), piece.size()};
    }
    if (count == 0) return {};
    const ssize_t size = ::writev(file_.get(), vectors.data(), count);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return SystemError(ErrorCode::kOutput, "write", path_, size < 0 ? errno : ENOSPC);
    auto written = static_cast<std::size_t>(size);
    for (std::string_view& piece : pieces) {
      const std::size_t part = std::min(written, piece.size());
      piece.remove_prefix(part);
      written -= part;
    }
  }
}

Status NewTensorFile::Publish() {
  if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return SystemError(ErrorCode::kOutput, "write", path_, errno);
  }
  temporary_path_.clear();
  return {};
}

}  // namespace msprobe
