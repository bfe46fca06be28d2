#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/call_counter.h"
#include "collect/record_filter.h"
#include "collect/step_writer.h"
#include "config/dump_settings.h"
#include "record/element.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// One outermost call of an API while collecting.
struct ApiCall {
  std::size_t api = 0;
  std::uint64_t number = 0;
  std::string name;            ///< "Prefix.api.n", without the direction
  bool keeps_forward = false;  ///< the forward record passed the filters
};

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

  /// Starts collecting in the current step; creates its files at the first start of the step.
  Status Start(std::optional<std::int64_t> rank, ElementObject header_extra);
  /// Takes no new calls; gradients of calls already taken still come in until EndStep.
  void Pause() { collecting_ = false; }
  bool collecting() const { return collecting_; }
  Status Flush();
  /// In a forked child: records nothing any more and leaves the files to the parent.
  void LeaveToParent();
  /// Flushes, closes the step's files, and begins the next step with fresh numbers.
  Status EndStep();

  std::size_t RegisterApi(std::string full_name) { return counter_.Register(std::move(full_name)); }
  ApiCall BeginCall(std::size_t api);
  /// The call raised: its number may be used again, and files of `begun`, the part of its record that was made, go.
  void AbandonCall(const ApiCall& call, const Record& begun);
  /// Whether the backward record is kept; to be asked once, when its first gradient arrives.
  bool AdmitBackward(const ApiCall& call);
  const DataMode& data_mode() const { return filter_.data_mode(); }

  /// Fills statistics and checksum of `tensor` from its memory and, in task tensor, queues its file under `data_name`.
  void Describe(TensorElement& tensor, const TensorView& view, std::string_view data_name);
  bool saves_tensors() const { return settings_.task == Task::kTensor; }

  void Add(const Record& record, std::string_view stack);

  /// The current writer, null before the first start of a step.
  const StepWriter* writer() const { return writer_.get(); }

 private:
  DumpSettings settings_;
  Framework framework_;
  RecordFilter filter_;
  CallCounter counter_;
  std::unique_ptr<StepWriter> writer_;
  std::int64_t step_ = 0;
  bool collecting_ = false;
};

/// `{record}.{category}.{suffix}{extension}` without the extension's choice: see dump_format.md 3.3. Characters that a
/// file name should not have become '_'; names longer than 255 bytes are cut and get a hash (decisions 18).
std::string TensorFileName(std::string_view stem, std::string_view extension);

}  // namespace msprobe
