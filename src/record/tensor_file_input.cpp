#include "record/tensor_file_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace msprobe {

TensorFileInput::TensorFileInput(FileHandle file, std::string path, std::uint64_t size)
    : file_(std::move(file)), path_(std::move(path)), size_(size) {}

Result<TensorFileInput> TensorFileInput::Open(const std::string& path) {
  // Not blocking, should it be a pipe; that does not matter for a regular file.
  FileHandle file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() && errno != ELOOP) return SystemError(ErrorCode::kInput, "open", path, errno);
  if (file.is_open() && ::fstat(file.get(), &status) != 0) {
    return SystemError(ErrorCode::kInput, "open", path, errno);
  }
  const bool is_link = !file.is_open();
  TensorFileInput input(std::move(file), path, static_cast<std::uint64_t>(status.st_size));
  if (is_link) return input.Wrong("it is a symbolic link, and links are not followed");
  if (!S_ISREG(status.st_mode)) return input.Wrong("it is not a regular file");
  return input;
}

Status TensorFileInput::Read(std::uint64_t offset, void* out, std::uint64_t size) const {
  auto* next = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t done = ::pread(file_.get(), next, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return SystemError(ErrorCode::kInput, "read", path_, errno);
    if (done == 0) return Wrong("it is cut short");
    next += done;
    offset += static_cast<std::uint64_t>(done);
    size -= static_cast<std::uint64_t>(done);
  }
  return {};
}

Error TensorFileInput::Wrong(std::string_view what) const {
  return {ErrorCode::kInput, "cannot read the tensor file " + Printable(path_) + ": " + std::string(what)};
}

}  // namespace msprobe
