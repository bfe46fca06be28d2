#include "collect/step_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "record/json_writer.h"

namespace msprobe {
namespace {

/// Text is flushed in the background this long after it came, or as soon as it has this size.
constexpr std::chrono::milliseconds kFlushInterval{500};
constexpr std::size_t kFlushBytes = std::size_t{256} << 10U;
/// Where the background does not keep up, Add itself flushes at this size.
constexpr std::size_t kMostPending = std::size_t{4} << 20U;

/// On a full disk: how often it is tried again, and how much is kept in memory for the case that room is made.
constexpr std::chrono::seconds kRetryInterval{5};
constexpr std::size_t kMostUnwritten = std::size_t{32} << 20U;

std::string Head(const DumpSettings& settings, Framework framework, const std::string& tensor_folder,
                 const ElementObject& extra) {
  std::string head = "{\n \"task\": ";
  AppendJsonString(head, settings.task_name);
  head += ",\n \"level\": ";
  AppendJsonString(head, settings.level_name);
  head += ",\n \"framework\": ";
  AppendJsonString(head, framework == Framework::kPyTorch ? "pytorch" : "mindspore");
  head += ",\n \"dump_data_dir\": ";
  if (tensor_folder.empty()) {
    head += "null";
  } else {
    AppendJsonString(head, tensor_folder);
  }
  for (const Member& member : extra) {
    head += ",\n ";
    AppendJsonString(head, member.key);
    head += ": ";
    AppendJson(head, member.value);
  }
  head += ",\n \"data\": {";
  return head;
}

bool SynchronousSaving() {
  const char* value = std::getenv("MSPROBE_SYNC_SAVE");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

}  // namespace

Result<std::unique_ptr<StepWriter>> StepWriter::Create(const DumpSettings& settings, Framework framework,
                                                       std::int64_t step, std::optional<std::int64_t> rank,
                                                       ElementObject header_extra) {
  Result<StepDirectory> directory = StepDirectory::Create(settings.dump_path, step, rank);
  if (!directory) {
    return directory.error();
  }
  const bool saves_tensors = settings.task == Task::kTensor || settings.task == Task::kOverflowCheck;
  const std::string tensor_folder = saves_tensors ? JoinPath(directory->path(), "dump_tensor_data") : std::string();
  if (saves_tensors) {
    if (Status made = CreateDirectories(tensor_folder); !made.ok()) {
      return made.error();
    }
  }
  Result<JsonJournal> dump = JsonJournal::Create(
      JoinPath(directory->path(), "dump.json"), Head(settings, framework, tensor_folder, header_extra), "}\n}\n", "  ");
  if (!dump) {
    return dump.error();
  }
  Result<JsonJournal> stack = JsonJournal::Create(JoinPath(directory->path(), "stack.json"), "{", "}\n", " ");
  if (!stack) {
    return stack.error();
  }
  Result<JsonJournal> construct = JsonJournal::Create(JoinPath(directory->path(), "construct.json"), "{", "}\n", " ");
  if (!construct) {
    return construct.error();
  }
  std::unique_ptr<StepWriter> writer(
      new StepWriter(std::move(*directory), std::move(*dump), std::move(*stack), std::move(*construct), framework));
  writer->tensor_folder_ = tensor_folder;
  return writer;
}

StepWriter::StepWriter(StepDirectory directory, JsonJournal dump, JsonJournal stack, JsonJournal construct,
                       Framework framework)
    : directory_(std::move(directory)),
      pool_(std::make_unique<TensorFilePool>(framework, SynchronousSaving())),
      dump_(std::move(dump)),
      stack_(std::move(stack)),
      construct_(std::move(construct)),
      timer_([this] { FlushQuietly(); }) {}

void StepWriter::Add(FinishedRecord record) {
  Pending pending{std::move(record.record.name), {}, std::move(record.stack), std::move(record.tree)};
  AppendJson(pending.text, record.record);
  std::size_t bytes = pending.text.size() + pending.stack.size();
  for (const TreeEntry& entry : pending.tree) {
    bytes += entry.name.size() + entry.value.size();
  }
  bool is_first = false;
  bool is_full = false;
  bool is_behind = false;
  {
    const std::lock_guard lock(mutex_);
    if (unwritten_bytes_ > 0 && unwritten_bytes_ + pending_bytes_ > kMostUnwritten) {
      ++dropped_records_;
      return;
    }
    is_first = pending_.empty();
    is_full = pending_bytes_ < kFlushBytes && pending_bytes_ + bytes >= kFlushBytes;
    pending_bytes_ += bytes;
    is_behind = pending_bytes_ >= kMostPending;
    if (unwritten_bytes_ > 0) {  // the timer tries again in its own time
      is_first = is_full = is_behind = false;
    }
    pending_.push_back(std::move(pending));
    ++record_count_;
  }
  if (is_behind) {
    FlushQuietly();
  } else if (is_full) {
    timer_.Arm(FlushTimer::Clock::duration::zero());
  } else if (is_first) {
    timer_.Arm(kFlushInterval);
  }
}

void StepWriter::AddTreeEntry(TreeEntry entry) {
  const std::lock_guard lock(flush_mutex_);
  construct_.Add(entry.name, entry.value);
}

std::uint64_t StepWriter::record_count() const {
  const std::lock_guard lock(mutex_);
  return record_count_;
}

bool StepWriter::SaveTensor(std::string_view name, const TensorView& view) {
  if (tensor_folder_.empty() || !pool_->healthy()) {
    return false;
  }
  pool_->Save(JoinPath(tensor_folder_, name), view);
  return true;
}

void StepWriter::RemoveTensors(const std::vector<std::string>& names) {
  if (names.empty()) {
    return;
  }
  const std::lock_guard flushing(flush_mutex_);
  const std::vector<TensorFilePool::Failure> failures = pool_->WaitAll();
  if (!failures.empty()) {
    const std::lock_guard lock(mutex_);
    DropNamesOf(failures, pending_);
  }
  for (const std::string& name : names) {
    ::unlink(JoinPath(tensor_folder_, name).c_str());
  }
}

void StepWriter::DropNamesOf(const std::vector<TensorFilePool::Failure>& failures, Records& records) {
  for (const TensorFilePool::Failure& failure : failures) {
    std::string key = ", \"data_name\": ";
    AppendJsonString(key, BaseName(failure.path));
    for (Pending& pending : records) {
      if (const std::size_t at = pending.text.find(key); at != std::string::npos) {
        pending.text.erase(at, key.size());
      }
    }
    if (!failure_) {
      failure_ = Error{ErrorCode::kOutput, failure.message + "; tensors are not saved any more, statistics are"};
    }
  }
}

void StepWriter::LeaveToParent(std::unique_ptr<StepWriter> writer) {
  if (writer) {
    const StepDirectory unlocked = std::move(writer->directory_);  // else the folder counts as in use after the parent
    for (JsonJournal* journal : {&writer->dump_, &writer->stack_, &writer->construct_}) {
      journal->Close();
    }
    static auto& left = *new std::vector<StepWriter*>();  // reachable for good
    left.push_back(writer.release());
  }
}

Status StepWriter::Flush() {
  const std::lock_guard flushing(flush_mutex_);
  Records records;
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    records.swap(pending_);
    bytes = std::exchange(pending_bytes_, 0);
  }
  // A record that names a tensor file is written only when that file is in place.
  if (const std::vector<TensorFilePool::Failure> failures = pool_->WaitAll(); !failures.empty()) {
    const std::lock_guard lock(mutex_);
    DropNamesOf(failures, records);
    DropNamesOf(failures, pending_);
  }
  for (const Pending& record : records) {
    dump_.Add(record.name, record.text);
    if (!record.stack.empty()) {
      stack_.Add(record.name, record.stack);
    }
    for (const TreeEntry& entry : record.tree) {
      construct_.Add(entry.name, entry.value);
    }
  }
  const Status written = WriteJournals();
  const std::lock_guard lock(mutex_);
  if (!written.ok()) {
    unwritten_bytes_ += bytes;
    timer_.Arm(kRetryInterval);
    return written;
  }
  unwritten_bytes_ = 0;
  if (bytes != 0) {
    CheckFolder();  // writing to a file that somebody has deleted succeeds
  }
  if (dropped_records_ != 0) {
    return Error{ErrorCode::kOutput, std::to_string(std::exchange(dropped_records_, 0)) +
                                         " records are lost: there was no room for them in " + directory_.path()};
  }
  if (failure_) {
    return *std::exchange(failure_, std::nullopt);
  }
  return {};
}

void StepWriter::FlushQuietly() {
  if (const Status flushed = Flush(); !flushed.ok()) {
    const std::lock_guard lock(mutex_);
    if (!failure_) {
      failure_ = flushed.error();  // told at the next explicit Flush; the training must not notice
    }
  }
}

Status StepWriter::WriteJournals() {
  if (dump_.buffered_bytes() + stack_.buffered_bytes() + construct_.buffered_bytes() == 0) {
    return {};
  }
  for (JsonJournal* journal : {&dump_, &stack_, &construct_}) {
    if (Status written = journal->Flush(); !written.ok()) {
      return written;
    }
  }
  return {};
}

void StepWriter::CheckFolder() {
  if (!folder_gone_ && ::access(JoinPath(directory_.path(), "dump.json").c_str(), F_OK) != 0 && errno == ENOENT) {
    folder_gone_ = true;
    failure_ =
        Error{ErrorCode::kOutput, directory_.path() + " was deleted or moved away while it was written; the records " +
                                      "of this step go where it went, later steps make their folders anew"};
  }
}

}  // namespace msprobe
