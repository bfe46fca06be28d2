#include "base/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace msprobe {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

Result<std::vector<std::string>> ListFolder(const std::string& path) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return SystemError(ErrorCode::kInput, "open the folder", path, errno);
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(file.get()));
  if (!folder) return SystemError(ErrorCode::kInput, "open the folder", path, errno);
  file.release();
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return SystemError(ErrorCode::kInput, "read the folder", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

bool IsPlainFolder(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsPlainFile(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsAbsent(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) != 0 && errno == ENOENT;
}

FileHandle OpenLockedFolder(const std::string& path) {
  FileHandle folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) return folder;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    folder = FileHandle();
    errno = EWOULDBLOCK;
    return folder;
  }
  struct stat opened = {};
  struct stat named = {};
  if (::fstat(folder.get(), &opened) == 0 && (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino)) {
    folder = FileHandle();  // removed, or made anew, between the two
    errno = ENOENT;
  }
  return folder;
}

}  // namespace msprobe
