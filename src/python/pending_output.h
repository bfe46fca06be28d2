#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "collect/call.h"
#include "python/object.h"
#include "python/recording.h"
#include "record/element.h"

namespace msprobe {

/// The record of a call of torch.distributed that answers in its arguments, between the call and its completion. It
/// holds the arguments, and so their tensors, until it is written: when the last handle of the call has completed, or
/// with null outputs when nobody can complete it any more (its last owner lets go) or the step ends.
class PendingOutput {
 public:
  /// `outputs`: a tuple, described when the call has completed; null where outputs are not recorded.
  PendingOutput(std::shared_ptr<Recording> recording, Record begun, std::shared_ptr<ModuleCall> module, Object outputs);
  ~PendingOutput();
  PendingOutput(const PendingOutput&) = delete;
  PendingOutput& operator=(const PendingOutput&) = delete;

  void SetHandleCount(std::size_t count) { handles_ = count; }
  /// One handle has completed; with the last one the record is written. False if an interrupt is pending then.
  bool HandleCompleted() { return --handles_ != 0 || Write(true); }
  /// Writes the record with null outputs, unless it is written.
  void GiveUp();

  /// All of `recording`, in order of their calls.
  static void GiveUpAll(const Recording& recording);
  /// In a forked child the records are the parent's.
  static void ForgetAll(const Recording& recording);

 private:
  bool Write(bool completed);

  std::shared_ptr<Recording> recording_;
  Record record_;
  std::shared_ptr<ModuleCall> module_;
  std::string stack_;
  std::string_view root_;
  Object outputs_;
  std::uint64_t id_;
  std::size_t handles_ = 1;
  bool done_ = false;
};

/// One handle of a call, whoever tells that it has completed: the handle, its futures, their callbacks.
class PendingHandle {
 public:
  explicit PendingHandle(std::shared_ptr<PendingOutput> output) : output_(std::move(output)) {}
  /// False if an interrupt is pending then.
  bool Complete() {
    const std::shared_ptr<PendingOutput> output = std::move(output_);
    return output == nullptr || output->HandleCompleted();
  }

 private:
  std::shared_ptr<PendingOutput> output_;
};

}  // namespace msprobe
