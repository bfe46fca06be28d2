#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// A tensor file in the making: written unbuffered under a temporary name in the same folder (0640, never through a
/// link), renamed when complete. Destroyed before that, it is removed. Unlike NewFile it copies nothing on the way.
class NewTensorFile {
 public:
  /// `path` is the final name.
  static Result<NewTensorFile> Create(const std::string& path);

  /// Writes the pieces one behind the other, in one call to the system as long as it takes them all.
  Status Write(std::string_view first, std::string_view second = {}, std::string_view third = {});

  /// Gives the file its final name.
  Status Publish();

  NewTensorFile(NewTensorFile&& other) noexcept;
  NewTensorFile& operator=(NewTensorFile&&) = delete;
  ~NewTensorFile();

 private:
  NewTensorFile(FileHandle file, std::string temporary_path, std::string path);

  FileHandle file_;
  std::string temporary_path_;  // empty: nothing to remove
  std::string path_;
};

/// The bytes of an object as the pieces above take them.
inline std::string_view AsBytes(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

}  // namespace msprobe
