#include "check/result_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <unordered_map>

#include "base/csv.h"
#include "base/files.h"
#include "check/result_resume.h"

namespace msprobe {
namespace {

constexpr mode_t kFileMode = 0640;
constexpr std::size_t kBufferLimit = 1U << 20U;

Result<FileHandle> OpenForAppend(const std::string& path, int flags) {
  FileHandle file(::open(path.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file.is_open()) return SystemError(ErrorCode::kOutput, "write", path, errno);
  if ((flags & O_CREAT) != 0 && ::fchmod(file.get(), kFileMode) != 0) {
    return SystemError(ErrorCode::kOutput, "set the mode of", path, errno);
  }
  return file;
}

Status RecordDevice(const ResultFiles& files, const std::string& device_type) {
  return device_type.empty() ? Status() : WriteFileAtomically(files.device, device_type + "\n");
}

/// Compares with the type that an earlier run has recorded, if it has.
Status CheckDevice(const ResultFiles& files, const std::string& device_type) {
  struct stat info = {};
  if (device_type.empty() || ::lstat(files.device.c_str(), &info) != 0) return {};
  auto text = ReadFile(files.device, 4096);
  if (!text) return text.error();
  const std::string earlier(Trim(*text));
  if (earlier == device_type) return {};
  return Error{ErrorCode::kInput, "cannot continue " + Printable(files.result) + ": its device was '" +
                                      Excerpt(earlier) + "', now it is '" + device_type +
                                      "'; run on the same kind of device, or start anew without -csv_path"};
}

}  // namespace

Result<ResultWriter> ResultWriter::Create(const ResultFiles& files, const CheckPlan& plan, const JournalHeader& header,
                                          const std::string& device_type) {
  ResultWriter writer(files, plan);
  if (Status status = writer.OpenCsvFiles(O_CREAT | O_EXCL); !status) return status.error();
  writer.result_text_ = kByteOrderMark;
  AppendCsvRow(writer.result_text_, ResultHeader());
  writer.details_text_ = kByteOrderMark;
  AppendCsvRow(writer.details_text_, DetailsHeader());
  if (Status status = writer.WriteBuffers(); !status) return status.error();
  if (Status status = RecordDevice(files, device_type); !status) return status.error();
  auto journal = Journal::Create(files.journal, header);
  if (!journal) return journal.error();
  writer.journal_.emplace(std::move(*journal));
  writer.FindWork();
  if (Status status = writer.WriteReady(nullptr); !status) return status.error();
  return writer;
}

Result<ResultWriter> ResultWriter::Resume(const ResultFiles& files, const CheckPlan& plan, JournalHeader header,
                                          const std::string& device_type) {
  ResultWriter writer(files, plan);
  if (Status status = CheckDevice(files, device_type); !status) return status.error();
  auto run = ResumeRun(files, header, plan);
  if (!run) return run.error();
  if (Status status = RecordDevice(files, device_type); !status) return status.error();
  writer.warnings_ = std::move(run->warnings);
  writer.counts_ = std::move(run->counts);
  writer.kept_ = std::move(run->kept);
  if (run->journal) {
    writer.journal_.emplace(std::move(*run->journal));
  } else {
    header.kept_rows = writer.kept_.size();
    auto journal = Journal::Create(files.journal, header);
    if (!journal) return journal.error();
    writer.journal_.emplace(std::move(*journal));
  }
  if (Status status = writer.OpenCsvFiles(0); !status) return status.error();
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) index_of.emplace(plan.cases[i].full_name, i);
  for (JournalEntry& entry : run->entries) {
    const auto found = index_of.find(entry.name);
    if (found != index_of.end()) writer.waiting_.emplace(found->second, std::move(entry));
  }
  writer.FindWork();
  if (Status status = writer.WriteReady(nullptr); !status) return status.error();
  return writer;
}

Status ResultWriter::OpenCsvFiles(int flags) {
  for (const auto& [path, handle] : {std::pair{&files_.result, &result_}, std::pair{&files_.details, &details_}}) {
    auto file = OpenForAppend(*path, flags);
    if (!file) return file.error();
    *handle = std::move(*file);
  }
  return {};
}

void ResultWriter::FindWork() {
  for (std::size_t i = 0; i < plan_->cases.size(); ++i) {
    const CheckCase& item = plan_->cases[i];
    if (item.skip_reason.empty() && kept_.count(item.full_name) == 0 && waiting_.count(i) == 0) to_run_.push_back(i);
  }
}

Status ResultWriter::Add(std::size_t index, CaseRows rows) {
  if (index >= plan_->cases.size() || index < next_ || waiting_.count(index) > 0) {
    return Error{ErrorCode::kInternal, "rows of case " + std::to_string(index) + " were given twice"};
  }
  rows.name = plan_->cases[index].full_name;
  auto entry = journal_->Append(rows);
  if (!entry) return entry.error();
  if (index == next_) return WriteReady(&rows);
  waiting_.emplace(index, std::move(*entry));
  return {};
}

/// Writes the rows of all cases from next_ on that are finished; those of next_ itself may be handed in.
Status ResultWriter::WriteReady(const CaseRows* rows_of_next) {
  for (; next_ < plan_->cases.size(); ++next_) {
    const CheckCase& item = plan_->cases[next_];
    const auto entry = waiting_.find(next_);
    if (rows_of_next != nullptr) {
      AppendRows(*rows_of_next);
      rows_of_next = nullptr;
    } else if (kept_.count(item.full_name) > 0) {
      continue;
    } else if (!item.skip_reason.empty()) {
      AppendRows(SkipRows(item.full_name, item.skip_reason));
    } else if (entry != waiting_.end()) {
      auto rows = journal_->Read(entry->second);
      if (!rows) return rows.error();
      AppendRows(*rows);
    } else {
      break;
    }
    if (entry != waiting_.end()) waiting_.erase(entry);
    if (details_text_.size() > kBufferLimit) {
      if (Status status = WriteBuffers(); !status) return status;
    }
  }
  return WriteBuffers();
}

void ResultWriter::AppendRows(const CaseRows& rows) {
  counts_.Add(rows.name, rows.forward, rows.backward);
  const std::string result_row[] = {rows.name, rows.forward, rows.backward, rows.message};
  AppendCsvRow(result_text_, result_row);
  for (const std::vector<std::string>& row : rows.details) AppendCsvRow(details_text_, row);
}

Status ResultWriter::WriteBuffers() {
  if (Status status = WriteAll(result_, result_text_.data(), result_text_.size(), files_.result); !status)
    return status;
  result_text_.clear();
  if (Status status = WriteAll(details_, details_text_.data(), details_text_.size(), files_.details); !status) {
    return status;
  }
  details_text_.clear();
  return {};
}

Status ResultWriter::Finish() {
  if (next_ != plan_->cases.size()) {
    return Error{ErrorCode::kInternal, std::to_string(plan_->cases.size() - next_) + " cases have no rows"};
  }
  return journal_->Remove();
}

}  // namespace msprobe
