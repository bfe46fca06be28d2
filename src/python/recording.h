#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/collector.h"
#include "python/call_stack.h"
#include "python/framework_access.h"
#include "python/module_stack.h"
#include "python/parameter_gradients.h"
#include "python/value_capture.h"

namespace msprobe {

class BackwardRecord;
class SavedGradients;

/// What the hooks of one debugger share. Python owns it through the binding; hooks on autograd nodes hold it by shared
/// pointer, for they may fire after the debugger is gone.
struct Recording {
  Recording(DumpSettings settings, Framework kind, std::unique_ptr<const FrameworkAccess> access,
            std::string tool_folder)
      : owned_access(std::move(access)),
        framework(*owned_access),
        collector(std::move(settings), kind),
        stack(std::move(tool_folder)),
        values(framework, collector, [this] { ReportPythonError("describing a value, which is null in its record"); }) {
  }
  virtual ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const std::unique_ptr<const FrameworkAccess> owned_access;
  const FrameworkAccess& framework;
  Collector collector;
  CallStack stack;
  ValueCapture values;
  Object kernel_dump;  ///< level L2 alone: see KernelDumpedCall
  Object on_error;     ///< called with one line of text, once per kind of failure
  std::set<std::string> reported;
  /// Started, but some of their gradients are still to come; in order of their calls.
  std::map<std::uint64_t, BackwardRecord*> open_backwards;
  std::uint64_t next_backward_id = 0;
  /// Of values that the user has saved; some are still to come.
  std::vector<std::shared_ptr<SavedGradients>> saved_gradients;
  /// Written, but their hooks are still to be taken off.
  std::vector<std::shared_ptr<SavedGradients>> written_gradients;
  std::uint64_t unreached_inputs = 0;  ///< calls whose input gradients cannot be told from the graph (decisions 4)
  bool collects_stacks = true;
  ModuleCalls modules;
  ParameterGradients parameter_gradients;

  /// Describes arguments, or what a call returned, into the forward record, where that part of records is read.
  void AddInputs(Record& forward, PyObject* arguments, PyObject* keywords);
  void AddOutput(Record& forward, PyObject* output);
  /// From now on calls of this thread are taken, and no longer those of another one.
  void TakeThisThread() { thread_ = std::this_thread::get_id(); }
  /// Whether a call that this thread makes now is to be recorded: collecting, on the thread that `start` was called on
  /// or where a backward pass has brought its work, and not inside the tool.
  bool TakesCalls() const {
    return collector.collecting() && !FrameworkAccess::Quiet::IsActive() &&
           (thread_ == std::this_thread::get_id() || framework.IsBackwardThread());
  }
  /// The stack of the current call; its text is empty where stacks are not collected.
  StackDescription DescribeStack();

  /// A failure inside the tool is told once and never reaches the training. Takes over a pending Python exception.
  void Report(const char* where, const std::string& what);
  void ReportPythonError(const char* where);

 private:
  std::thread::id thread_;
};

/// Says in a forward record that it comes from activation checkpointing, which makes calls again in backward.
void MarkRecomputed(Record& forward, const StackDescription& stack);

}  // namespace msprobe
