#include "collect/step_directory.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/folders.h"

namespace msprobe {
namespace {

Error Failed(const std::string& what, const std::string& path) {
  return Error{ErrorCode::kOutput, "cannot " + what + " " + Printable(path) + ": " + std::strerror(errno)};
}

bool IsEmpty(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) {
    return false;
  }
  bool empty = true;
  while (const dirent* entry = readdir(directory)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
      empty = false;
      break;
    }
  }
  closedir(directory);
  return empty;
}

/// Local time of the last change of the folder's dump.json, else of the folder, as 14 digits.
std::string LastChange(const std::string& path) {
  struct stat info {};
  if (stat(JoinPath(path, "dump.json").c_str(), &info) != 0 && stat(path.c_str(), &info) != 0) {
    return TimeStamp();
  }
  std::tm parts{};
  localtime_r(&info.st_mtime, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d%H%M%S", &parts);
  return text.data();
}

std::string RankName(std::optional<std::int64_t> rank) { return rank ? "rank" + std::to_string(*rank) : "rank"; }

std::string ProcessName(std::optional<std::int64_t> rank) { return RankName(rank) + "_p" + std::to_string(getpid()); }

/// Renames what an earlier run left; fills `warning`. That somebody else was faster is no failure.
Status SetAside(const std::string& path, std::string& warning) {
  const std::string stem = path + "." + LastChange(path);
  std::string aside = stem;
  struct stat info {};
  for (int suffix = 1; lstat(aside.c_str(), &info) == 0; ++suffix) {
    aside = stem + "_" + std::to_string(suffix);
  }
  if (rename(path.c_str(), aside.c_str()) != 0 && errno != ENOENT) {
    return Failed("set aside the folder of an earlier run,", path);
  }
  warning = path + " holds the data of an earlier run; it is now " + BaseName(aside);
  return {};
}

Error NotOpened(const std::string& path) {
  Error failure = Failed("open the folder", path);
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    failure.message = path + " is a " + (S_ISLNK(info.st_mode) ? "link" : "file") +
                      ", where a folder is to be made; remove it or choose another dump_path";
  }
  return failure;
}

}  // namespace

Result<StepDirectory> StepDirectory::Create(const std::string& dump_path, std::int64_t step,
                                            std::optional<std::int64_t> rank) {
  StepDirectory result;
  result.step_path_ = JoinPath(dump_path, "step" + std::to_string(step));
  std::string name = RankName(rank);
  Error failure{ErrorCode::kOutput, "cannot claim a folder for this process in " + result.step_path_ +
                                        ": other processes keep claiming it"};
  // Another process may create, set aside or remove the same folders at the same moment; each turn makes progress or
  // gives way.
  for (int attempt = 0; attempt < 64; ++attempt) {
    if (Status made = CreateDirectories(result.step_path_); !made.ok()) {
      failure = made.error();
      continue;
    }
    const std::string path = JoinPath(result.step_path_, name);
    const bool created = mkdir(path.c_str(), 0750) == 0;
    if (!created && errno == ENOENT) {
      continue;
    }
    if (!created && errno != EEXIST) {
      return Failed("create the folder", path);
    }
    FileHandle lock = OpenLockedFolder(path);
    if (!lock.is_open()) {
      if (errno == ENOENT) {
        continue;
      }
      if (errno != EWOULDBLOCK) {
        return NotOpened(path);
      }
      name = ProcessName(rank);
      result.warning_ = "another running process writes to " + path + "; this one writes to " + name;
      continue;
    }
    if (created || IsEmpty(path)) {
      chmod(path.c_str(), 0750);
      result.path_ = path;
      result.lock_ = lock.release();
      return result;
    }
    const Status moved = SetAside(path, result.warning_);
    if (!moved.ok()) {
      return moved.error();
    }
  }
  return failure;
}

Status StepDirectory::AdoptRank(std::int64_t rank) {
  warning_.clear();
  std::string path = JoinPath(step_path_, RankName(rank));
  FileHandle lock = OpenLockedFolder(path);
  if (lock.is_open()) {
    const Status moved = IsEmpty(path) ? Status() : SetAside(path, warning_);
    if (!moved.ok()) {
      return moved;
    }
  } else if (errno == EWOULDBLOCK) {
    warning_ = "another running process writes to " + path + "; this one writes to " + ProcessName(rank);
    path = JoinPath(step_path_, ProcessName(rank));
  }
  if (rename(path_.c_str(), path.c_str()) != 0) {
    return Failed("rename " + Printable(path_) + " to", path);
  }
  path_ = path;
  return {};
}

void StepDirectory::RemoveIfUnused(std::initializer_list<std::string_view> files) {
  DIR* directory = opendir(path_.c_str());
  if (directory == nullptr) {
    return;
  }
  std::vector<std::string> ours;
  bool unused = true;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") {
      continue;
    }
    ours.push_back(JoinPath(path_, name));
    unused = unused && (std::find(files.begin(), files.end(), name) != files.end() || IsEmpty(ours.back()));
  }
  closedir(directory);
  if (!unused) {
    return;
  }
  for (const std::string& path : ours) {
    if (unlink(path.c_str()) != 0) {
      rmdir(path.c_str());
    }
  }
  rmdir(path_.c_str());
  rmdir(step_path_.c_str());  // unless other processes have theirs in it
}

StepDirectory::StepDirectory(StepDirectory&& other) noexcept { *this = std::move(other); }

StepDirectory& StepDirectory::operator=(StepDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(step_path_, other.step_path_);
  std::swap(warning_, other.warning_);
  std::swap(lock_, other.lock_);
  return *this;
}

StepDirectory::~StepDirectory() {
  if (lock_ >= 0) {
    close(lock_);
  }
}

}  // namespace msprobe
