#include "check/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <rapidjson/document.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "base/files.h"
#include "check/rows_json.h"
#include "record/json_writer.h"

namespace msprobe {
namespace {

constexpr int kVersion = 1;

std::string HeaderLine(const JournalHeader& header) {
  std::string line = "{\"journal\": " + std::to_string(kVersion) + ", \"plan\": ";
  AppendJsonString(line, header.plan);
  line += ", \"cases\": " + std::to_string(header.cases) + ", \"kept_rows\": " + std::to_string(header.kept_rows) +
          ", \"settings\": {";
  for (std::size_t i = 0; i < header.settings.size(); ++i) {
    if (i > 0) line += ", ";
    AppendJsonString(line, header.settings[i].first);
    line += ": ";
    AppendJsonString(line, header.settings[i].second);
  }
  return line + "}}\n";
}

bool ParseHeader(std::string_view line, JournalHeader& header) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(line.data(), line.size());
  if (document.HasParseError() || !document.IsObject()) return false;
  const auto number = [&](const char* key, std::uint64_t& out) {
    const auto found = document.FindMember(key);
    if (found == document.MemberEnd() || !found->value.IsUint64()) return false;
    out = found->value.GetUint64();
    return true;
  };
  std::uint64_t version = 0;
  const auto plan = document.FindMember("plan");
  const auto settings = document.FindMember("settings");
  if (!number("journal", version) || version != kVersion || !number("cases", header.cases) ||
      !number("kept_rows", header.kept_rows) || plan == document.MemberEnd() || !plan->value.IsString() ||
      settings == document.MemberEnd() || !settings->value.IsObject()) {
    return false;
  }
  header.plan = plan->value.GetString();
  for (const auto& setting : settings->value.GetObject()) {
    if (!setting.value.IsString()) return false;
    header.settings.emplace_back(setting.name.GetString(), setting.value.GetString());
  }
  return true;
}

/// Opened for reading and writing, locked; never through a link.
Result<FileHandle> OpenLocked(const std::string& path, int flags) {
  FileHandle file(::open(path.c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640));
  if (!file.is_open() && errno == ELOOP) {
    return Error{ErrorCode::kOutput, Printable(path) + " is a symbolic link, which is not followed; remove it"};
  }
  if (!file.is_open()) return SystemError(ErrorCode::kOutput, "open", path, errno);
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error{ErrorCode::kOutput, "cannot use " + Printable(path) + " as the journal: it is no regular file"};
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kOutput, "another run is writing " + Printable(path) + ": wait for it or stop it"};
  }
  return file;
}

}  // namespace

std::string Difference(const JournalHeader& then, const JournalHeader& now) {
  const auto find = [](const JournalHeader& header, const std::string& name) -> const std::string* {
    for (const auto& [key, value] : header.settings) {
      if (key == name) return &value;
    }
    return nullptr;
  };
  const auto shown = [](const std::string* value) {
    return value == nullptr || value->empty() ? std::string("not set") : "'" + Excerpt(*value) + "'";
  };
  for (const auto& [name, value] : now.settings) {
    const std::string* earlier = find(then, name);
    if (earlier == nullptr || *earlier != value)
      return name + " was " + shown(earlier) + ", now it is " + shown(&value);
  }
  for (const auto& [name, value] : then.settings) {
    if (find(now, name) == nullptr) return name + " was " + shown(&value) + ", now it is not set";
  }
  if (then.cases != now.cases) {
    return "the dump had " + std::to_string(then.cases) + " APIs to check, now it has " + std::to_string(now.cases);
  }
  if (then.plan != now.plan) return "the content of dump.json or of the lists has changed";
  return "";
}

Result<Journal> Journal::Create(const std::string& path, const JournalHeader& header) {
  auto file = OpenLocked(path, O_CREAT);
  if (!file) return file.error();
  if (::ftruncate(file->get(), 0) != 0) return SystemError(ErrorCode::kOutput, "empty", path, errno);
  const std::string line = HeaderLine(header);
  if (Status status = WriteAll(*file, line.data(), line.size(), path); !status) return status.error();
  Journal journal(std::move(*file), path);
  journal.end_ = line.size();
  return journal;
}

Result<Journal::Opened> Journal::Open(const std::string& path) {
  auto file = OpenLocked(path, 0);
  if (!file) return file.error();
  Opened opened{Journal(std::move(*file), path), false, {}, {}};
  std::unordered_set<std::string> seen;
  std::string text;
  std::uint64_t line_start = 0;
  std::vector<char> chunk(1U << 18U);
  const auto take_line = [&](std::string_view line, std::uint64_t offset) {
    if (!opened.has_header) {
      opened.has_header = ParseHeader(line, opened.header);
      return opened.has_header;
    }
    auto rows = ParseRowsJson(line);
    if (rows && !rows->name.empty() && seen.insert(rows->name).second) {
      opened.entries.push_back(JournalEntry{std::move(rows->name), offset, line.size()});
    }
    return true;
  };
  while (true) {
    auto count = ReadSome(opened.journal.file_, chunk.data(), chunk.size(), path);
    if (!count) return count.error();
    if (*count == 0) break;
    std::size_t searched = text.size();
    text.append(chunk.data(), *count);
    std::size_t begin = 0;
    for (auto end = text.find('\n', searched); end != std::string::npos; end = text.find('\n', begin)) {
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      if (!take_line(line, line_start)) return opened;
      line_start += line.size() + 1;
      begin = end + 1;
    }
    text.erase(0, begin);
  }
  opened.journal.end_ = line_start;
  if (opened.has_header && ::ftruncate(opened.journal.file_.get(), static_cast<off_t>(line_start)) != 0) {
    return SystemError(ErrorCode::kOutput, "repair", path, errno);
  }
  return opened;
}

Result<JournalEntry> Journal::Append(const CaseRows& rows) {
  std::string line;
  AppendRowsJson(line, rows);
  line += '\n';
  if (::lseek(file_.get(), static_cast<off_t>(end_), SEEK_SET) < 0) {
    return SystemError(ErrorCode::kOutput, "write", path_, errno);
  }
  if (Status status = WriteAll(file_, line.data(), line.size(), path_); !status) return status.error();
  JournalEntry entry{rows.name, end_, line.size() - 1};
  end_ += line.size();
  return entry;
}

Result<CaseRows> Journal::Read(const JournalEntry& entry) const {
  std::string line(entry.size, '\0');
  std::size_t filled = 0;
  while (filled < line.size()) {
    const ssize_t count =
        ::pread(file_.get(), line.data() + filled, line.size() - filled, static_cast<off_t>(entry.offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(ErrorCode::kInput, "read", path_, errno);
    if (count == 0) return Error{ErrorCode::kInput, Printable(path_) + " has become shorter while it was in use"};
    filled += static_cast<std::size_t>(count);
  }
  return ParseRowsJson(line);
}

Status Journal::Remove() {
  if (::unlink(path_.c_str()) != 0) return SystemError(ErrorCode::kOutput, "remove", path_, errno);
  return {};
}

}  // namespace msprobe
