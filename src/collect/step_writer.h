#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/step_directory.h"
#include "collect/tensor_file_pool.h"
#include "config/dump_settings.h"
#include "record/element.h"
#include "record/json_journal.h"

namespace msprobe {

/// Writes the files of one step of one process: dump.json, stack.json, construct.json and tensor files. Records are
/// written once, complete, in order of completion (decisions 13 to 16); memory does not grow with their number.
class StepWriter {
 public:
  /// Creates the folder and the three skeletons. `header_extra`: further keys before "data" (decisions 34).
  static Result<std::unique_ptr<StepWriter>> Create(const DumpSettings& settings, Framework framework,
                                                    std::int64_t step, std::optional<std::int64_t> rank,
                                                    ElementObject header_extra);

  /// Adds a record; `stack` is the JSON text of its frames, empty for none.
  void Add(const Record& record, std::string_view stack);
  /// Queues the tensor's file `dump_tensor_data/<name>`; false when nothing is saved any more because saving failed.
  bool SaveTensor(std::string_view name, const TensorView& view);
  /// Takes back files that SaveTensor queued: the call they belong to raised, and its number will be used again.
  void RemoveTensors(const std::vector<std::string>& names);
  /// In a forked child, before destruction: the threads that write tensor files exist in the parent only.
  void LeaveToParent();
  /// Writes everything that is buffered. Errors name the file; what could not be written stays buffered.
  Status Flush();

  const StepDirectory& directory() const { return directory_; }
  std::uint64_t record_count() const { return record_count_; }

 private:
  StepWriter(StepDirectory directory, JsonJournal dump, JsonJournal stack, JsonJournal construct, Framework framework);
  Status WriteJournals();
  void DropNamesOf(const std::vector<TensorFilePool::Failure>& failures);

  struct Pending {
    std::string name;
    std::string text;
    std::string stack;
  };

  StepDirectory directory_;
  JsonJournal dump_;
  JsonJournal stack_;
  JsonJournal construct_;
  std::unique_ptr<TensorFilePool> pool_;
  std::string tensor_folder_;
  std::vector<Pending> pending_;
  std::size_t pending_bytes_ = 0;
  std::chrono::steady_clock::time_point last_flush_;
  std::uint64_t record_count_ = 0;
  std::optional<Error> failure_;
  std::size_t unwritten_bytes_ = 0;  ///< handed to the journals, but the disk did not take them
  std::uint64_t dropped_records_ = 0;
  bool folder_gone_ = false;
};

}  // namespace msprobe
