#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "config/ignore_rules.h"
#include "python/call_stack.h"
#include "python/module_stack.h"
#include "python/parameter_gradients.h"
#include "python/torch_access.h"
#include "python/unlisted_functions.h"
#include "python/value_capture.h"

namespace msprobe {

class BackwardRecord;
class SavedGradients;

/// Stands in the API table for functions that run autograd's engine: they are no records, but what they call may be.
inline constexpr int kEngineFunction = -2;

/// What the hooks of one debugger share. Python owns it through the binding; hooks on autograd nodes hold it by shared
/// pointer, for they may fire after the debugger is gone.
struct Recording {
  Recording(DumpSettings settings, PyObject* torch_helpers, std::string tool_folder)
      : torch(torch_helpers),
        collector(std::move(settings), Framework::kPyTorch),
        stack(std::move(tool_folder)),
        values(torch, collector, [this] { ReportPythonError("describing a value, which is null in its record"); }) {}

  TorchAccess torch;
  Collector collector;
  CallStack stack;
  ValueCapture values;
  IgnoreRules ignore_rules;
  Object api_table;               ///< dict: function object -> index of the API, or kEngineFunction
  Object enter_mode, leave_mode;  ///< put the mode on this thread's stack again, and take it off
  Object kernel_dump;             ///< level L2 alone: see KernelDumpedCall
  Object on_error;                ///< called with one line of text, once per kind of failure
  std::set<std::string> reported;
  /// Started, but some of their gradients are still to come; in order of their calls.
  std::map<std::uint64_t, BackwardRecord*> open_backwards;
  std::uint64_t next_backward_id = 0;
  /// Of values that the user has saved; some are still to come.
  std::vector<std::shared_ptr<SavedGradients>> saved_gradients;
  std::uint64_t unreached_inputs = 0;  ///< calls whose input gradients cannot be told from the graph (decisions 4)
  UnlistedFunctions unlisted;
  bool collects_stacks = true;
  ModuleCalls modules;
  ParameterGradients parameter_gradients;
  /// Recorders made earlier than the newest are out of use: one may be left in a thread that did not stop it itself.
  std::uint64_t newest_recorder = 0;
  unsigned long recorder_thread = 0;  ///< that made the newest one: where calls are recorded but for those of backward

  /// Describes arguments, or what a call returned, into the forward record, where that part of records is read.
  void AddInputs(Record& forward, PyObject* arguments, PyObject* keywords);
  void AddOutput(Record& forward, PyObject* output);
  /// The stack of the current call; its text is empty where stacks are not collected.
  StackDescription DescribeStack();

  /// A failure inside the tool is told once and never reaches the training. Takes over a pending Python exception.
  void Report(const char* where, const std::string& what);
  void ReportPythonError(const char* where);
};

/// Says in a forward record that it comes from activation checkpointing, which makes calls again in backward.
void MarkRecomputed(Record& forward, const StackDescription& stack);

}  // namespace msprobe
