#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "collect/collector.h"
#include "python/call_stack.h"
#include "python/torch_access.h"
#include "python/value_capture.h"

namespace msprobe {

class BackwardRecord;

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
  Object api_table;  ///< dict: function object -> index of the API
  Object on_error;   ///< called with one line of text, once per kind of failure
  std::set<std::string> reported;
  /// Started, but some of their gradients are still to come; in order of their calls.
  std::map<std::uint64_t, BackwardRecord*> open_backwards;
  std::uint64_t next_backward_id = 0;
  std::uint64_t unreached_inputs = 0;  ///< calls whose input gradients cannot be told from the graph (decisions 4)
  bool collects_stacks = true;
  /// Recorders made earlier than the newest are out of use: one may be left in a thread that did not stop it itself.
  std::uint64_t newest_recorder = 0;

  /// A failure inside the tool is told once and never reaches the training. Takes over a pending Python exception.
  void Report(const char* where, const std::string& what);
  void ReportPythonError(const char* where);
};

}  // namespace msprobe
