#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/flush_timer.h"
#include "collect/step_directory.h"
#include "collect/tensor_file_pool.h"
#include "config/dump_settings.h"
#include "record/element.h"
#include "record/json_journal.h"

namespace msprobe {

/// One member of construct.json: a name and its value as JSON text.
struct TreeEntry {
  std::string name;
  std::string value;
};

/// A record on its way to the files.
struct FinishedRecord {
  Record record;
  std::string stack;            ///< JSON text of its frames, empty for none
  std::vector<TreeEntry> tree;  ///< what construct.json gains with it
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
  /// Takes back files that SaveTensor queued: the call they belong to raised, and its number will be used again.
  void RemoveTensors(const std::vector<std::string>& names);
  /// In a forked child in place of destruction: threads exist in the parent only, locks may be held for good.
  static void LeaveToParent(std::unique_ptr<StepWriter> writer);
  /// Writes everything that is buffered. Errors name the file; what could not be written stays buffered.
  Status Flush();

  const StepDirectory& directory() const { return directory_; }
  std::uint64_t record_count() const;

 private:
  StepWriter(StepDirectory directory, JsonJournal dump, JsonJournal stack, JsonJournal construct, Framework framework);
  struct Pending {
    std::string name;
    std::string text;
    std::string stack;
    std::vector<TreeEntry> tree;
  };

  using Records = std::vector<Pending>;

  void FlushQuietly();
  Status WriteJournals();
  void CheckFolder();
  void DropNamesOf(const std::vector<TensorFilePool::Failure>& failures, Records& records);

  StepDirectory directory_;
  std::string tensor_folder_;
  std::unique_ptr<TensorFilePool> pool_;

  /// Held by one flush at a time, before mutex_; guards the journals.
  std::mutex flush_mutex_;
  JsonJournal dump_;
  JsonJournal stack_;
  JsonJournal construct_;
  bool folder_gone_ = false;

  /// Guards what follows; never held while a disk is waited for.
  mutable std::mutex mutex_;
  Records pending_;
  std::size_t pending_bytes_ = 0;
  std::size_t unwritten_bytes_ = 0;  ///< handed to the journals, but the disk did not take them
  std::uint64_t record_count_ = 0;
  std::uint64_t dropped_records_ = 0;
  std::optional<Error> failure_;

  FlushTimer timer_;  // last: its thread ends before the rest goes
};

}  // namespace msprobe
