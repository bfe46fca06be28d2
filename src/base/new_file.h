#pragma once

#include <string>
#include <string_view>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// A file that appears under its name only when it is complete (mode 0640): written without a name where the file
/// system can do that, so that even a killed process leaves nothing behind, else under a temporary name in the same
/// folder that the destructor removes.
class NewFile {
 public:
  NewFile() = default;
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;
  ~NewFile();

  /// `folder` must exist.
  static Result<NewFile> Create(const std::string& folder);

  /// Buffered; an error may show at a later call.
  Status Append(std::string_view text);

  /// Writes what is buffered; PublishAs and Publish do it themselves.
  Status Flush();

  /// Gives the file the name `path` in its folder and replaces what is there.
  Status Publish(const std::string& path);

  /// As Publish, but never replaces: `false` when the name is taken (the file can then be published under another).
  Result<bool> PublishIfAbsent(const std::string& path);

 private:
  void Discard();
  int LinkTo(const std::string& path) const;

  FileHandle file_;
  std::string folder_;
  std::string temporary_path_;  ///< "" while the file has no name
  std::string buffer_;
};

}  // namespace msprobe
