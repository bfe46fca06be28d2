#include "compare/output_pair.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <string_view>

#include "base/csv.h"
#include "base/files.h"
#include "base/format.h"

namespace msprobe {
namespace {

constexpr int kMostStamps = 3600;

bool Exists(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

int Digits(std::string_view text) {
  int number = 0;
  for (const char c : text) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

std::string NextStamp(const std::string& stamp) {
  // Counted in UTC: a stamp is a name, and a local clock may jump.
  const std::string_view text = stamp;
  std::tm time = {};
  time.tm_year = Digits(text.substr(0, 4)) - 1900;
  time.tm_mon = Digits(text.substr(4, 2)) - 1;
  time.tm_mday = Digits(text.substr(6, 2));
  time.tm_hour = Digits(text.substr(8, 2));
  time.tm_min = Digits(text.substr(10, 2));
  time.tm_sec = Digits(text.substr(12, 2)) + 1;
  ::timegm(&time);  // carries into minutes, hours and days
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", time.tm_year + 1900, time.tm_mon + 1, time.tm_mday, time.tm_hour,
                     time.tm_min, time.tm_sec);
}

Result<OutputPair> OutputPair::Create(const std::string& folder) {
  OutputPair pair;
  pair.folder_ = folder;
  Result<NewFile> details = NewFile::Create(folder);
  if (!details.ok()) return details.error();
  Result<NewFile> result = NewFile::Create(folder);
  if (!result.ok()) return result.error();
  pair.details_ = std::move(*details);
  pair.result_ = std::move(*result);
  if (Status mark = pair.details_.Append(kByteOrderMark); !mark.ok()) return mark.error();
  if (Status mark = pair.result_.Append(kByteOrderMark); !mark.ok()) return mark.error();
  return pair;
}

Status OutputPair::Append(NewFile& file, std::span<const std::string> cells) {
  row_.clear();
  AppendCsvRow(row_, cells);
  return file.Append(row_);
}

Status OutputPair::Publish(const std::string& stamp) {
  // Everything that can fail for lack of space happens before the first name appears.
  if (Status flushed = details_.Flush(); !flushed.ok()) return flushed;
  if (Status flushed = result_.Flush(); !flushed.ok()) return flushed;
  std::string current = stamp;
  for (int tried = 0; tried < kMostStamps; ++tried, current = NextStamp(current)) {
    details_path_ = JoinPath(folder_, fmt::format("api_precision_compare_details_{}.csv", current));
    result_path_ = JoinPath(folder_, fmt::format("api_precision_compare_result_{}.csv", current));
    if (Exists(result_path_)) continue;
    // Whoever creates the details file owns the stamp.
    const Result<bool> details = details_.PublishIfAbsent(details_path_);
    if (!details.ok()) return details.error();
    if (!*details) continue;
    const Result<bool> result = result_.PublishIfAbsent(result_path_);
    if (result.ok() && *result) return {};
    ::unlink(details_path_.c_str());
    if (!result.ok()) return result.error();
    return Error{ErrorCode::kOutput, Printable(result_path_) + " was created by somebody else just now; run again"};
  }
  return Error{
      ErrorCode::kOutput,
      fmt::format("no free name for the result in {}: remove old api_precision_compare files", Printable(folder_))};
}

}  // namespace msprobe
