#pragma once

#include <string>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// The file `.kernel_statistics` in a dump path: its kernel dump is to become statistics. It tells these tensors from
/// those that a user asked for, and stays when the process is killed. Each process that watches the path holds a shared
/// lock on it.
class SummaryMarker {
 public:
  /// Makes the file and the folder where they are missing, and takes the shared lock.
  static Result<SummaryMarker> Create(const std::string& path);
  /// Opens the one that a killed process left. Not `held` when there is none; an error when a link stands there or it
  /// cannot be opened.
  static Result<SummaryMarker> OpenLeftOver(const std::string& path);

  bool held() const { return file_.is_open(); }

  /// Whether nobody else watches the path any more; the lock is then exclusive until this object goes, else given up.
  bool IsLast();
  void Remove();

 private:
  std::string path_;
  FileHandle file_;
};

}  // namespace msprobe
