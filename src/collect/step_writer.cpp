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

/// Buffered text is flushed at this size, and at the latest when a record arrives this long after the last flush, so
/// that a killed process has lost little.
constexpr std::size_t kFlushBytes = std::size_t{256} << 10U;
constexpr std::chrono::milliseconds kFlushInterval{500};

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
      dump_(std::move(dump)),
      stack_(std::move(stack)),
      construct_(std::move(construct)),
      pool_(std::make_unique<TensorFilePool>(framework, SynchronousSaving())),
      last_flush_(std::chrono::steady_clock::now()) {}

void StepWriter::Add(const Record& record, std::string_view stack) {
  if (unwritten_bytes_ + pending_bytes_ > kMostUnwritten && unwritten_bytes_ > 0 &&
      std::chrono::steady_clock::now() - last_flush_ < kRetryInterval) {
    ++dropped_records_;
    return;
  }
  Pending pending{record.name, {}, std::string(stack)};
  AppendJson(pending.text, record);
  pending_bytes_ += pending.text.size() + stack.size();
  pending_.push_back(std::move(pending));
  ++record_count_;
  const auto waited = std::chrono::steady_clock::now() - last_flush_;
  const bool due =
      unwritten_bytes_ == 0 ? pending_bytes_ >= kFlushBytes || waited >= kFlushInterval : waited >= kRetryInterval;
  if (due) {
    if (Status flushed = Flush(); !flushed.ok() && !failure_) {
      failure_ = flushed.error();  // told at the next explicit Flush; the training must not notice
    }
  }
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
  DropNamesOf(pool_->WaitAll());
  for (const std::string& name : names) {
    ::unlink(JoinPath(tensor_folder_, name).c_str());
  }
}

void StepWriter::DropNamesOf(const std::vector<TensorFilePool::Failure>& failures) {
  for (const TensorFilePool::Failure& failure : failures) {
    std::string key = ", \"data_name\": ";
    AppendJsonString(key, BaseName(failure.path));
    for (Pending& pending : pending_) {
      if (const std::size_t at = pending.text.find(key); at != std::string::npos) {
        pending.text.erase(at, key.size());
      }
    }
    if (!failure_) {
      failure_ = Error{ErrorCode::kOutput, failure.message + "; tensors are not saved any more, statistics are"};
    }
  }
}

void StepWriter::LeaveToParent() {
  // The pool's threads are the parent's: it cannot be torn down here, so it stays, reachable, for good.
  static auto& left = *new std::vector<std::unique_ptr<TensorFilePool>>();
  left.push_back(std::move(pool_));
}

Status StepWriter::Flush() {
  last_flush_ = std::chrono::steady_clock::now();
  // A record that names a tensor file is written only when that file is in place.
  DropNamesOf(pool_->WaitAll());
  const bool writes = !pending_.empty() || unwritten_bytes_ != 0;
  for (Pending& pending : pending_) {
    dump_.Add(pending.name, pending.text);
    if (!pending.stack.empty()) {
      stack_.Add(pending.name, pending.stack);
    }
  }
  pending_.clear();
  unwritten_bytes_ += std::exchange(pending_bytes_, 0);
  if (writes) {
    if (Status written = WriteJournals(); !written.ok()) {
      return written;
    }
  }
  unwritten_bytes_ = 0;
  if (dropped_records_ != 0) {
    return Error{ErrorCode::kOutput, std::to_string(std::exchange(dropped_records_, 0)) +
                                         " records are lost: there was no room for them in " + directory_.path()};
  }
  if (failure_) {
    return *std::exchange(failure_, std::nullopt);
  }
  return {};
}

Status StepWriter::WriteJournals() {
  for (JsonJournal* journal : {&dump_, &stack_, &construct_}) {
    if (Status written = journal->Flush(); !written.ok()) {
      return written;
    }
  }
  // Writing to a file that somebody has deleted succeeds.
  if (!folder_gone_ && ::access(JoinPath(directory_.path(), "dump.json").c_str(), F_OK) != 0 && errno == ENOENT) {
    folder_gone_ = true;
    return Error{ErrorCode::kOutput, directory_.path() +
                                         " was deleted or moved away while it was written; the records " +
                                         "of this step go where it went, later steps make their folders anew"};
  }
  return {};
}

}  // namespace msprobe
