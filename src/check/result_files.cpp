#include "check/result_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/file_handle.h"
#include "base/files.h"

namespace msprobe {
namespace {

constexpr std::string_view kResultPrefix = "accuracy_checking_result_";
constexpr std::string_view kDetailsPrefix = "accuracy_checking_details_";
constexpr std::size_t kStampDigits = 14;
constexpr mode_t kFileMode = 0640;

bool Exists(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// YYYYmmddHHMMSS one second later.
std::string NextStamp(const std::string& stamp) {
  struct tm parts = {};
  if (::strptime(stamp.c_str(), "%Y%m%d%H%M%S", &parts) == nullptr) return stamp;
  ++parts.tm_sec;
  // As UTC: the calendar is all that matters here, and it has no hour that occurs twice.
  const time_t seconds = ::timegm(&parts);
  if (::gmtime_r(&seconds, &parts) == nullptr) return stamp;
  char text[32] = {};
  ::strftime(text, sizeof(text), "%Y%m%d%H%M%S", &parts);
  return text;
}

}  // namespace

ResultFiles ResultFilesFor(const std::string& folder, std::string_view stamp) {
  ResultFiles files;
  files.stamp = std::string(stamp);
  files.result = JoinPath(folder, std::string(kResultPrefix) + files.stamp + ".csv");
  const std::string details = JoinPath(folder, std::string(kDetailsPrefix) + files.stamp);
  files.details = details + ".csv";
  files.device = details + ".device";
  files.journal = files.result + ".journal";
  return files;
}

Result<ResultFiles> ExistingResultFiles(const std::string& result_csv) {
  if (Status status = CheckInputFile(result_csv, ".csv"); !status) return status.error();
  const std::unique_ptr<char, decltype(&::free)> resolved(::realpath(result_csv.c_str(), nullptr), &::free);
  const std::string path = resolved ? resolved.get() : result_csv;
  const std::string name = BaseName(path);
  constexpr std::string_view kSuffix = ".csv";
  const bool fits = name.size() == kResultPrefix.size() + kStampDigits + kSuffix.size() &&
                    name.starts_with(kResultPrefix) && name.ends_with(kSuffix);
  const std::string stamp = fits ? name.substr(kResultPrefix.size(), kStampDigits) : "";
  if (stamp.empty() || stamp.find_first_not_of("0123456789") != std::string::npos) {
    return Error{ErrorCode::kInput,
                 "cannot continue " + Printable(path) +
                     ": its name must be accuracy_checking_result_<14 digits>.csv, as the run made it"};
  }
  return ResultFilesFor(ParentPath(path), stamp);
}

Result<ResultFiles> TakeResultFiles(const std::string& folder, std::string_view stamp,
                                    const std::string& error_folder_prefix) {
  std::string candidate(stamp);
  for (std::string previous; candidate != previous; previous = std::exchange(candidate, NextStamp(candidate))) {
    ResultFiles files = ResultFilesFor(folder, candidate);
    const bool taken = Exists(files.result) || Exists(files.details) || Exists(files.device) ||
                       (!error_folder_prefix.empty() && Exists(error_folder_prefix + candidate));
    if (taken) continue;
    const FileHandle journal(
        ::open(files.journal.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (journal.is_open()) return files;
    if (errno != EEXIST) return SystemError(ErrorCode::kOutput, "create a file in", folder, errno);
  }
  return Error{ErrorCode::kInternal, "\"" + candidate + "\" is no time"};
}

void ReleaseResultFiles(const ResultFiles& files) {
  struct stat info = {};
  if (::lstat(files.journal.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0) {
    ::unlink(files.journal.c_str());
  }
}

}  // namespace msprobe
