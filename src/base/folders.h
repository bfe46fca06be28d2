#pragma once

#include <string>
#include <vector>

#include "base/file_handle.h"
#include "base/result.h"

namespace msprobe {

/// The names in a folder, sorted, without "." and "..". A symbolic link is refused.
Result<std::vector<std::string>> ListFolder(const std::string& path);

/// Whether `path` itself, never what a link leads to, is a folder or a regular file.
bool IsPlainFolder(const std::string& path);
bool IsPlainFile(const std::string& path);

/// Whether nothing has the name `path`, not even a link that leads nowhere.
bool IsAbsent(const std::string& path);

/// Opens the folder without following a link and takes its advisory lock, held until the handle goes. Not open when it
/// fails; errno then tells why: EWOULDBLOCK when somebody else holds the lock, ENOENT when the folder is gone or was
/// made anew meanwhile. Where locks are not supported the folder counts as free.
FileHandle OpenLockedFolder(const std::string& path);

}  // namespace msprobe
