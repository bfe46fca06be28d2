#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/call.h"
#include "collect/call_counter.h"
#include "collect/held_records.h"
#include "collect/overflow.h"
#include "collect/record_filter.h"
#include "collect/step_writer.h"
#include "config/dump_settings.h"
#include "record/element.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// What a session of one process does with calls, whatever the framework: names and numbers them, filters, describes
/// tensors, writes. Steps and ranks are filtered here too. Not thread-safe: the Python edge calls it under the GIL.
class Collector {
 public:
  Collector(DumpSettings settings, Framework framework);

  const DumpSettings& settings() const { return settings_; }
  DumpSettings& mutable_settings() { return settings_; }  ///< users may move dump_path between steps
  std::int64_t step() const { return step_; }

  /// Whether this step is one of the configured ones, and whether all of them lie behind.
  bool StepSelected() const;
  bool StepsExhausted() const;
  /// A process without a rank counts as rank 0 (config.md 2.3).
  bool RankSelected(std::optional<std::int64_t> rank) const;

  /// Whether collection is over for good: task overflow_check has as many records as it was asked for.
  bool finished() const { return overflow_ && overflow_->reached_limit(); }
  /// Records of task overflow_check so far.
  std::int64_t overflow_count() const { return overflow_ ? overflow_->count() : 0; }
  /// What `scope`, `list` and `tensor_list` matched since construction.
  FilterReport filter_report() const { return filter_.Report(); }

  /// Starts collecting in the current step; creates its files at the first start of the step. Does nothing once
  /// finished.
  Status Start(std::optional<std::int64_t> rank, ElementObject header_extra);
  /// Takes no new calls; gradients of calls already taken still come in until EndStep.
  void Pause() { collecting_ = false; }
  /// After Pause, in the same step.
  void Resume() { collecting_ = (writer_ != nullptr || settings_.level == Level::kL2) && !finished(); }
  bool collecting() const { return collecting_; }
  Status Flush();
  /// In a forked child: records nothing any more and leaves the files to the parent.
  void LeaveToParent();
  /// Flushes, closes the step's files, and begins the next step with fresh numbers.
  Status EndStep() { return BeginStep(step_ + 1); }
  /// The same with the number of the next step.
  Status BeginStep(std::int64_t step);
  /// The rank has become known while files of a process without one are open. A line to warn with, or "".
  Result<std::string> AdoptRank(std::int64_t rank) { return writer_ ? writer_->AdoptRank(rank) : std::string(); }

  /// "Prefix.api" or "Module.name.Class"; the index stands for it in the calls below.
  std::size_t Register(std::string full_name) { return counter_.Register(std::move(full_name)); }
  /// What the records of a module begin with; `path`: dotted names inside the model.
  std::string ModuleName(const std::string& path, const std::string& class_name) const {
    return (framework_ == Framework::kPyTorch ? "Module." : "Cell.") + path + "." + class_name;
  }
  Call BeginCall(std::size_t api);
  /// The call raised: its number may be used again, and files of `begun`, the part of its record that was made, go.
  void AbandonCall(const Call& call, const Record& begun);
  /// Whether the backward record is kept; to be asked once, when its first gradient arrives. `parent`: the module it
  /// was called in, null for none; its backward begins no later than that of an inner call.
  bool AdmitBackward(const Call& call, ModuleCall* parent);

  std::shared_ptr<ModuleCall> BeginModule(std::size_t module, std::shared_ptr<ModuleCall> parent);
  void EndModule(const ModuleCall& module);
  bool BeginModuleBackward(ModuleCall& module);
  void EndModuleBackward(const ModuleCall& module);
  /// Whether the gradients of a module's parameters are kept; `module`: its latest call, whose backward may have left
  /// the scope already.
  bool AdmitGradients(const std::string& record_name, const ModuleCall& module);
  bool has_modules() const { return settings_.level == Level::kL0 || settings_.level == Level::kMix; }
  /// Says which micro batch of the step runs now; from then on construct.json's values are [parent, micro step].
  void SetMicroStep(std::int64_t micro_step) { micro_step_ = micro_step; }
  const DataMode& data_mode() const { return filter_.data_mode(); }

  /// Fills statistics and checksum of `tensor` from its memory and, unless `data_name` is empty, queues its file.
  /// `zeros`: how many more the tensor has that are not in its memory.
  void Describe(TensorElement& tensor, const TensorView& view, std::string_view data_name, std::uint64_t zeros = 0);
  /// In task tensor, saves what has no statistics, a text array, as the content of an .npy file.
  void SaveContent(TensorElement& tensor, std::string_view content, std::string_view data_name);
  /// `tensor.late` will be known when `source` has been read; records wait for it, in order. One source per collector.
  void AwaitStatistics(LateStatistics& source) { late_ = &source; }
  /// Whether a tensor's memory is needed, beyond its statistics, also where it gets no file.
  bool makes_checksums() const { return settings_.summary_mode == SummaryMode::kMd5; }
  /// Task structure records names alone.
  bool reads_values() const { return settings_.task != Task::kStructure && !finished(); }
  /// Whether the values of a record's input part, and of its output part, are read.
  bool reads_inputs() const { return data_mode().input && reads_values(); }
  bool reads_outputs() const { return data_mode().output && reads_values(); }
  /// Whether tensors of some records get files.
  bool saves_tensors() const { return settings_.saves_tensors(); }
  /// Whether those of this record do.
  bool SavesTensors(std::string_view record_name) {
    return settings_.task == Task::kTensor || overflow_ || filter_.SavesTensors(record_name);
  }

  /// `stack`: JSON text of its frames, empty for none.
  void Add(Record record, std::string_view stack);
  /// The same, with the record's place in construct.json at levels that have modules; outer modules that are not there
  /// yet get their entries first.
  void Add(Record record, std::string_view stack, const TreePlace& place, Direction direction);
  /// The record of a module call itself.
  void AddModule(Record record, std::string_view stack, const std::shared_ptr<ModuleCall>& module, Direction direction);

  /// Names of a value that the user saves and of its gradients: "{name}.{n}.debug" and "{name}_grad.{n}.debug", n
  /// counts from 0 in every step.
  struct SavedNames {
    std::string value;
    std::string gradients;
  };
  SavedNames NameSavedValue(const std::string& name);
  void AddSavedValue(std::string full_name, Element value);

  /// What the files of this step hold, or those of the last one while this step has none.
  StepTotals totals() const { return writer_ ? writer_->totals() : finished_totals_; }

  /// The current writer, null before the first start of a step.
  const StepWriter* writer() const { return writer_.get(); }

 private:
  std::vector<TreeEntry> EntriesUpTo(ModuleCall* module, Direction direction);
  TreeEntry Entry(std::string name, const std::string& parent) const;
  std::vector<TreeEntry> EntriesOf(const std::string& name, const TreePlace& place, Direction direction);
  void Submit(FinishedRecord record);
  /// `make_tree` is called once it is known that the record is written.
  template <typename MakeTree>
  void SubmitInTree(Record record, std::string_view stack, MakeTree make_tree);
  void Write(FinishedRecord record);

  DumpSettings settings_;
  Framework framework_;
  RecordFilter filter_;
  std::optional<OverflowCheck> overflow_;  ///< task overflow_check only
  CallCounter counter_;
  std::unique_ptr<StepWriter> writer_;
  LateStatistics* late_ = nullptr;  ///< null until a tensor's statistics are late
  HeldRecords held_;
  StepTotals finished_totals_;
  std::map<std::string, std::uint64_t> saved_counts_;
  std::set<std::string> named_roots_;  ///< "optimizer", ...: those that have their entry in construct.json
  std::optional<std::int64_t> micro_step_;
  std::int64_t step_ = 0;
  bool collecting_ = false;
};

/// `{record}.{category}.{suffix}{extension}` without the extension's choice: see dump_format.md 3.3. Characters that a
/// file name should not have become '_'; names longer than 255 bytes are cut and get a hash (decisions 18).
std::string TensorFileName(std::string_view stem, std::string_view extension);

}  // namespace msprobe
