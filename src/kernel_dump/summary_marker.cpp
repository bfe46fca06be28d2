#include "kernel_dump/summary_marker.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

namespace msprobe {
namespace {

constexpr const char* kName = ".kernel_statistics";
constexpr int kMostTries = 64;

}  // namespace

Result<SummaryMarker> SummaryMarker::Create(const std::string& path) {
  if (Status made = CreateDirectories(path); !made.ok()) return made.error();
  SummaryMarker marker;
  marker.path_ = JoinPath(path, kName);
  // The last one of another job may remove the file between its opening and the lock.
  for (int tried = 0; tried < kMostTries; ++tried) {
    marker.file_ =
        FileHandle(::open(marker.path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0640));
    if (!marker.file_.is_open()) return SystemError(ErrorCode::kOutput, "write", marker.path_, errno);
    while (::flock(marker.file_.get(), LOCK_SH) != 0 && errno == EINTR) {
    }
    struct stat opened = {};
    struct stat named = {};
    if (::fstat(marker.file_.get(), &opened) == 0 && ::lstat(marker.path_.c_str(), &named) == 0 &&
        opened.st_ino == named.st_ino) {
      return marker;
    }
  }
  return Error{ErrorCode::kOutput, "cannot keep " + Printable(marker.path_) + ": other processes keep removing it"};
}

Result<SummaryMarker> SummaryMarker::OpenLeftOver(const std::string& path) {
  SummaryMarker marker;
  marker.path_ = JoinPath(path, kName);
  marker.file_ = FileHandle(::open(marker.path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!marker.file_.is_open() && errno != ENOENT) {
    return SystemError(ErrorCode::kInput, "open", marker.path_, errno);
  }
  return marker;
}

bool SummaryMarker::IsLast() {
  // Where locks are not supported nobody else is known of.
  return held() && (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
}

void SummaryMarker::Remove() {
  ::unlink(path_.c_str());
  file_ = FileHandle();
}

}  // namespace msprobe
