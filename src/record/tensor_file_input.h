#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// A tensor file that is being read. Its name comes out of a dump, so a symbolic link is refused, whatever it points to
/// (spec decisions 20), and so is everything but a regular file.
class TensorFileInput {
 public:
  static Result<TensorFileInput> Open(const std::string& path);

  std::uint64_t size() const { return size_; }  ///< bytes when it was opened

  /// Reads exactly `size` bytes at `offset`; a file that ends before is an error.
  Status Read(std::uint64_t offset, void* out, std::uint64_t size) const;

  /// "cannot read the tensor file <path>: <what>".
  Error Wrong(std::string_view what) const;

 private:
  TensorFileInput(FileHandle file, std::string path, std::uint64_t size);

  FileHandle file_;
  std::string path_;
  std::uint64_t size_;
};

}  // namespace msprobe
