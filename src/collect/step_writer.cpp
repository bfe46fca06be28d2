#include "collect/step_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "record/json_writer.h"
#include "record/tensor_elements.h"

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

}  // namespace

bool SynchronousSaving() {
  const char* value = std::getenv("MSPROBE_SYNC_SAVE");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

Result<std::unique_ptr<StepWriter>> StepWriter::Create(const DumpSettings& settings, Framework framework,
                                                       std::int64_t step, std::optional<std::int64_t> rank,
                                                       ElementObject header_extra) {
  Result<StepDirectory> directory = StepDirectory::Create(settings.dump_path, step, rank);
  if (!directory) {
    return directory.error();
  }
  const std::string tensor_folder =
      settings.saves_tensors() ? JoinPath(directory->path(), "dump_tensor_data") : std::string();
  if (settings.saves_tensors()) {
    if (Status made = CreateDirectories(tensor_folder); !made.ok()) {
      return made.error();
    }
  }
  DumpHead head = MakeDumpHead(settings, framework, tensor_folder, header_extra, !rank.has_value());
  Result<StepJournals> journals = StepJournals::Create(directory->path(), std::move(head), settings.level);
  if (!journals) {
    return journals.error();
  }
  return std::unique_ptr<StepWriter>(
      new StepWriter(std::move(*directory), tensor_folder, std::move(*journals), framework));
}

StepWriter::StepWriter(StepDirectory directory, std::string tensor_folder, StepJournals journals, Framework framework)
    : directory_(std::move(directory)),
      tensor_folder_(std::move(tensor_folder)),
      pool_(std::make_unique<TensorFilePool>(framework, SynchronousSaving())),
      journals_(std::move(journals)),
      timer_([this] { FlushQuietly(); }) {}

void StepWriter::Add(FinishedRecord record) {
  std::uint64_t tensors = 0;
  ForEachTensorElement(std::as_const(record.record), [&](const TensorElement&) { ++tensors; });
  bool is_first = false;
  bool is_full = false;
  bool is_behind = false;
  {
    const std::lock_guard lock(mutex_);
    if (unwritten_bytes_ > 0 && unwritten_bytes_ + pending_bytes_ > kMostUnwritten) {
      ++dropped_records_;
      ++totals_.lost;
      ++(record.is_saved_value ? totals_.saved_values : totals_.records);
      return;
    }
    Pending::Entry entry{};
    std::string& text = pending_.text;
    entry.begin = text.size();
    entry.name_end = text.append(record.record.name).size();
    if (record.is_saved_value) {
      AppendJson(text, record.record.sections.front().value);
    } else {
      AppendJson(text, record.record);
    }
    entry.record_end = text.size();
    entry.stack_end = text.append(record.stack).size();
    std::size_t bytes = entry.stack_end - entry.name_end;
    for (const TreeEntry& leaf : record.tree) {
      bytes += leaf.name.size() + leaf.value.size();
    }
    is_first = pending_.entries.empty();
    is_full = pending_bytes_ < kFlushBytes && pending_bytes_ + bytes >= kFlushBytes;
    pending_bytes_ += bytes;
    is_behind = pending_bytes_ >= kMostPending;
    if (unwritten_bytes_ > 0) {  // the timer tries again in its own time
      is_first = is_full = is_behind = false;
    }
    ++(record.is_saved_value ? totals_.saved_values : totals_.records);
    totals_.tensors += tensors;
    totals_.json_bytes += bytes;
    entry.tree = std::move(record.tree);
    entry.is_saved_value = record.is_saved_value;
    pending_.entries.push_back(std::move(entry));
  }
  if (is_behind || synchronous_) {
    FlushQuietly();
  } else if (is_full) {
    timer_.Arm(FlushTimer::Clock::duration::zero());
  } else if (is_first) {
    timer_.Arm(kFlushInterval);
  }
}

void StepWriter::AddTreeEntry(TreeEntry entry) {
  const std::lock_guard lock(flush_mutex_);
  journals_.AddTreeEntry(entry);
}

StepTotals StepWriter::totals() const {
  const std::lock_guard lock(mutex_);
  StepTotals totals = totals_;
  totals.lost += unwritten_records_;
  return totals;
}

bool StepWriter::SaveTensor(std::string_view name, const TensorView& view) {
  if (tensor_folder_.empty() || !pool_->healthy()) {
    return false;
  }
  pool_->Save(JoinPath(tensor_folder_, name), view);
  CountTensorFile(view);
  return true;
}

bool StepWriter::SaveTensor(std::string_view name, TensorCopy tensor) {
  if (tensor_folder_.empty() || !pool_->healthy()) {
    return false;
  }
  CountTensorFile(tensor.view());
  pool_->Save(JoinPath(tensor_folder_, name), std::move(tensor));
  return true;
}

bool StepWriter::SaveContent(std::string_view name, std::string_view content) {
  return !tensor_folder_.empty() && pool_->healthy() &&
         WriteFileAtomically(JoinPath(tensor_folder_, name), content).ok();
}

void StepWriter::CountTensorFile(const TensorView& view) {
  const std::lock_guard lock(mutex_);
  ++totals_.tensor_files;
  totals_.tensor_bytes += static_cast<std::uint64_t>(ElementCount(view)) * ItemSize(view.dtype);
}

void StepWriter::RemoveTensors(const std::vector<std::string>& names) {
  if (names.empty()) {
    return;
  }
  const std::lock_guard flushing(flush_mutex_);
  const std::vector<TensorFilePool::Failure> failures = pool_->WaitAll();
  if (!failures.empty()) {
    const std::lock_guard lock(mutex_);
    CountFailures(failures);
    DropNamesOf(failures, pending_);
  }
  for (const std::string& name : names) {
    ::unlink(JoinPath(tensor_folder_, name).c_str());
  }
}

void StepWriter::CountFailures(const std::vector<TensorFilePool::Failure>& failures) {
  for (const TensorFilePool::Failure& failure : failures) {
    --totals_.tensor_files;
    totals_.tensor_bytes -= failure.bytes;
  }
}

void StepWriter::DropNamesOf(const std::vector<TensorFilePool::Failure>& failures, Pending& records) {
  for (const TensorFilePool::Failure& failure : failures) {
    std::string key = ", \"data_name\": ";
    AppendJsonString(key, BaseName(failure.path));
    std::size_t erased = 0;
    for (Pending::Entry& entry : records.entries) {
      entry.begin -= erased;
      entry.name_end -= erased;
      entry.record_end -= erased;
      entry.stack_end -= erased;
      const std::size_t at = records.text.find(key, entry.name_end);
      if (at < entry.record_end) {
        records.text.erase(at, key.size());
        erased += key.size();
        entry.record_end -= key.size();
        entry.stack_end -= key.size();
      }
    }
    if (!failure_) {
      failure_ = Error{ErrorCode::kOutput, failure.message + "; tensors are not saved any more, statistics are"};
    }
  }
}

void StepWriter::Discard(std::unique_ptr<StepWriter> writer) {
  StepDirectory directory = std::move(writer->directory_);
  writer.reset();
  directory.RemoveIfUnused({"dump.json", "stack.json", "construct.json", "debug.json"});
}

void StepWriter::LeaveToParent(std::unique_ptr<StepWriter> writer) {
  if (writer) {
    const StepDirectory unlocked = std::move(writer->directory_);  // else the folder counts as in use after the parent
    writer->journals_.Close();
    static auto& left = *new std::vector<StepWriter*>();  // reachable for good
    left.push_back(writer.release());
  }
}

Status StepWriter::HandOn(const Pending& records, std::uint64_t& unwritten) {
  Status status;
  const std::string_view text = records.text;
  std::size_t written_to = 0;
  unwritten = records.entries.size();
  std::uint64_t in_part = 0;
  for (const Pending::Entry& entry : records.entries) {
    const std::string_view name = text.substr(entry.begin, entry.name_end - entry.begin);
    const std::string_view record = text.substr(entry.name_end, entry.record_end - entry.name_end);
    if (!entry.is_saved_value) {
      journals_.AddRecord(name, record, text.substr(entry.record_end, entry.stack_end - entry.record_end), entry.tree);
    } else if (Status added = journals_.AddSaved(name, record); !added.ok()) {
      status = std::move(added);
    }
    ++in_part;
    // In parts: what fits on a disk that is nearly full gets there.
    if (status.ok() && entry.stack_end - written_to >= kFlushBytes) {
      status = journals_.Flush();
      written_to = entry.stack_end;
      unwritten -= status.ok() ? std::exchange(in_part, 0) : 0;
    }
  }
  if (Status flushed = journals_.Flush(); !flushed.ok()) {
    return flushed;
  }
  unwritten = 0;
  return status;
}

Status StepWriter::Flush() {
  const std::lock_guard flushing(flush_mutex_);
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(flushed_, pending_);
    bytes = std::exchange(pending_bytes_, 0);
  }
  // A record that names a tensor file is written only when that file is in place.
  if (const std::vector<TensorFilePool::Failure> failures = pool_->WaitAll(); !failures.empty()) {
    const std::lock_guard lock(mutex_);
    CountFailures(failures);
    DropNamesOf(failures, flushed_);
    DropNamesOf(failures, pending_);
  }
  std::uint64_t unwritten = 0;
  const Status written = HandOn(flushed_, unwritten);
  flushed_.text.clear();
  flushed_.entries.clear();
  const std::lock_guard lock(mutex_);
  if (!written.ok()) {
    unwritten_bytes_ += bytes;
    unwritten_records_ += unwritten;
    timer_.Arm(kRetryInterval);
    return written;
  }
  unwritten_bytes_ = 0;
  unwritten_records_ = 0;
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

Result<std::string> StepWriter::AdoptRank(std::int64_t rank) {
  const std::lock_guard flushing(flush_mutex_);
  // Files on their way have the old path.
  if (const std::vector<TensorFilePool::Failure> failures = pool_->WaitAll(); !failures.empty()) {
    const std::lock_guard lock(mutex_);
    CountFailures(failures);
    DropNamesOf(failures, pending_);
  }
  if (Status renamed = directory_.AdoptRank(rank); !renamed.ok()) {
    return renamed.error();
  }
  if (!tensor_folder_.empty()) {
    tensor_folder_ = JoinPath(directory_.path(), BaseName(tensor_folder_));
  }
  if (Status moved = journals_.Moved(directory_.path(), tensor_folder_); !moved.ok()) {
    return moved.error();
  }
  return directory_.warning();
}

void StepWriter::CheckFolder() {
  if (!folder_gone_ && ::access(JoinPath(directory_.path(), journals_.main_file()).c_str(), F_OK) != 0 &&
      errno == ENOENT) {
    folder_gone_ = true;
    failure_ =
        Error{ErrorCode::kOutput, directory_.path() + " was deleted or moved away while it was written; the records " +
                                      "of this step go where it went, later steps make their folders anew"};
  }
}

}  // namespace msprobe
