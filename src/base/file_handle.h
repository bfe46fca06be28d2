#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/result.h"

namespace msprobe {

/// Owns a file descriptor and closes it.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle();

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

/// Opens a regular file for reading after the checks of CheckInputFile; a pipe or device never blocks.
Result<FileHandle> OpenInputFile(const std::string& path);

/// read(2) that continues after signals; the number of bytes, 0 at the end of the file.
Result<std::size_t> ReadSome(const FileHandle& file, char* buffer, std::size_t size, const std::string& path);

/// write(2) until everything is written.
Status WriteAll(const FileHandle& file, const char* data, std::size_t size, const std::string& path);

/// An Error of kPermission for EACCES and EPERM, else of `otherwise`: "cannot <action> <path>: <reason>".
Error SystemError(ErrorCode otherwise, const char* action, const std::string& path, int error_number);

}  // namespace msprobe
