#include "python/recorded_call.h"

#include <optional>
#include <utility>
#include <vector>

#include "python/gradient_hooks.h"
#include "python/guarded.h"
#include "python/kernel_call.h"
#include "python/module_recorder.h"
#include "python/outermost_call.h"

namespace msprobe {
namespace {

/// A call between its begin and its end.
struct PendingCall {
  Call call;
  std::shared_ptr<ModuleCall> module;  ///< the module it was called in
  Record forward;
  std::vector<InputEdge> inputs;
  std::optional<std::uint64_t> sequence_number;
};

void Begin(Recording& recording, std::size_t api, PyObject* arguments, PyObject* keywords, PendingCall& pending) {
  const FrameworkAccess::Quiet quiet(recording.framework);
  Collector& collector = recording.collector;
  pending.call = collector.BeginCall(api);
  if (collector.has_modules()) {
    pending.module = RunningModule(recording);
  }
  if (collector.data_mode().backward) {
    pending.inputs = ReadInputEdges(recording.framework, arguments, keywords);
    pending.sequence_number = recording.framework.NextSequenceNumber();
  }
  if (!pending.call.keeps_forward) {
    return;
  }
  pending.forward.name = pending.call.forward_name;
  recording.AddInputs(pending.forward, arguments, keywords);
}

void End(const std::shared_ptr<Recording>& recording, PendingCall& pending, PyObject* output) {
  const FrameworkAccess::Quiet quiet(recording->framework);
  Collector& collector = recording->collector;
  if (pending.call.keeps_forward) {
    recording->AddOutput(pending.forward, output);
    const StackDescription stack = recording->DescribeStack();
    MarkRecomputed(pending.forward, stack);
    collector.Add(std::move(pending.forward), stack.text, TreePlace{pending.module, stack.root}, Direction::kForward);
  }
  if (collector.data_mode().backward) {
    HookGradients(recording, GradientSubject{std::move(pending.call), nullptr, std::move(pending.module)},
                  pending.inputs, output, pending.sequence_number);
  }
}

}  // namespace

PyObject* RecordedCall(const std::shared_ptr<Recording>& recording, std::size_t api, PyObject* function,
                       PyObject* arguments, PyObject* keywords) {
  if (recording->kernel_dump) {
    return KernelDumpedCall(*recording, api, function, arguments, keywords);
  }
  PendingCall pending;
  const Outcome begun = Guarded(*recording, "recording the inputs of a call",
                                [&] { Begin(*recording, api, arguments, keywords, pending); });
  PyObject* output = nullptr;
  if (begun != Outcome::kInterrupted) {
    const OutermostCall running;
    output = PyObject_Call(function, arguments, keywords);
  }
  if (output == nullptr) {
    if (!pending.call.forward_name.empty()) {
      recording->collector.AbandonCall(pending.call, pending.forward);
    }
    return nullptr;
  }
  if (begun == Outcome::kDone && Guarded(*recording, "recording the output of a call",
                                         [&] { End(recording, pending, output); }) == Outcome::kInterrupted) {
    Py_DECREF(output);
    return nullptr;
  }
  return output;
}

}  // namespace msprobe
