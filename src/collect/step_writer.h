#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/flush_timer.h"
#include "collect/step_directory.h"
#include "collect/step_journals.h"
#include "collect/tensor_file_pool.h"
#include "config/dump_settings.h"
#include "record/element.h"

namespace msprobe {

/// MSPROBE_SYNC_SAVE=1: every record and tensor file is complete when the hook returns (decisions 16).
bool SynchronousSaving();

/// A record on its way to the files.
struct FinishedRecord {
  Record record;
  std::string stack;            ///< JSON text of its frames, empty for none
  std::vector<TreeEntry> tree;  ///< what construct.json gains with it
  bool is_saved_value = false;  ///< the record's only section is a value of debug.json
  /// Makes `tree` once it is known that the record is written; empty where `tree` stands already.
  std::function<std::vector<TreeEntry>(const std::string& record_name)> make_tree = {};
};

/// What a step's files hold.
struct StepTotals {
  std::uint64_t records = 0;
  std::uint64_t saved_values = 0;  ///< in debug.json
  std::uint64_t tensors = 0;       ///< described in records and saved values
  std::uint64_t json_bytes = 0;
  std::uint64_t tensor_files = 0;
  std::uint64_t tensor_bytes = 0;  ///< of the tensors in files
  std::uint64_t lost = 0;          ///< records and saved values, counted above, that no file has taken so far
};

/// Writes the files of one step of one process: dump.json, stack.json, construct.json and tensor files. Records are
/// written once, complete, in order of completion (decisions 13 to 16); memory does not grow with their number. A
/// thread of its own flushes what waits: a process that hangs and is killed loses at most half a second of records.
/// Every method may be called from any thread.
class StepWriter {
 public:
  /// Creates the folder and the three skeletons. `header_extra`: further keys before "data" (decisions 34).
  static Result<std::unique_ptr<StepWriter>> Create(const DumpSettings& settings, Framework framework,
                                                    std::int64_t step, std::optional<std::int64_t> rank,
                                                    ElementObject header_extra);

  void Add(FinishedRecord record);
  void AddTreeEntry(TreeEntry entry);
  /// Queues the tensor's file `dump_tensor_data/<name>`; false when nothing is saved any more because saving failed.
  bool SaveTensor(std::string_view name, const TensorView& view);
  bool SaveTensor(std::string_view name, TensorCopy tensor);
  /// Writes a file of ready content there at once: what is no tensor of numbers.
  bool SaveContent(std::string_view name, std::string_view content);
  /// Takes back files that SaveTensor queued: the call they belong to raised, and its number will be used again.
  void RemoveTensors(const std::vector<std::string>& names);
  /// In a forked child in place of destruction: threads exist in the parent only, locks may be held for good.
  static void LeaveToParent(std::unique_ptr<StepWriter> writer);
  /// In place of destruction where nothing was called in the step: leaves no folder, unless something else lies in it.
  static void Discard(std::unique_ptr<StepWriter> writer);
  /// Writes everything that is buffered. Errors name the file; what could not be written stays buffered.
  Status Flush();

  /// The rank has become known: the folder gets its name. A line to warn with, or "".
  Result<std::string> AdoptRank(std::int64_t rank);

  const StepDirectory& directory() const { return directory_; }
  StepTotals totals() const;

 private:
  StepWriter(StepDirectory directory, std::string tensor_folder, StepJournals journals, Framework framework);
  /// Records as text, one behind the other in one string: a string each, made on one thread and freed on another, costs
  /// more than writing it.
  struct Pending {
    struct Entry {
      std::size_t begin, name_end, record_end, stack_end;  ///< places in `text`
      std::vector<TreeEntry> tree;
      bool is_saved_value;
    };
    std::string text;
    std::vector<Entry> entries;
  };

  void FlushQuietly();
  void CheckFolder();
  void CountTensorFile(const TensorView& view);
  void DropNamesOf(const std::vector<TensorFilePool::Failure>& failures, Pending& records);
  void CountFailures(const std::vector<TensorFilePool::Failure>& failures);
  /// `unwritten`: how many of the records the disk did not take.
  Status HandOn(const Pending& records, std::uint64_t& unwritten);

  StepDirectory directory_;
  std::string tensor_folder_;
  std::unique_ptr<TensorFilePool> pool_;

  /// Held by one flush at a time, before mutex_; guards the journals.
  std::mutex flush_mutex_;
  StepJournals journals_;
  Pending flushed_;  ///< what is being written
  bool folder_gone_ = false;

  /// Guards what follows; never held while a disk is waited for.
  mutable std::mutex mutex_;
  Pending pending_;
  std::size_t pending_bytes_ = 0;
  std::size_t unwritten_bytes_ = 0;  ///< handed to the journals, but the disk did not take them
  StepTotals totals_;
  std::uint64_t unwritten_records_ = 0;  ///< the same, counted
  std::uint64_t dropped_records_ = 0;
  std::optional<Error> failure_;

  const bool synchronous_ = SynchronousSaving();
  FlushTimer timer_;  // last: its thread ends before the rest goes
};

}  // namespace msprobe
