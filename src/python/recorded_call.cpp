#include "python/recorded_call.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "python/gradient_hooks.h"
#include "python/guarded.h"
#include "python/kernel_call.h"
#include "python/module_recorder.h"
#include "python/outermost_call.h"
#include "python/pending_output.h"
#include "python/work_watch.h"

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

/// What communication shows as its outputs: what it returned but for handles, or its arguments if that is nothing.
Object Arrived(const FrameworkAccess& framework, PyObject* arguments, PyObject* result) {
  const Object parts = Checked(PyList_New(0));
  const auto add = [&](PyObject* part) {
    if (part != Py_None && (framework.IsTensor(part) || !IsWorkHandle(part)) && PyList_Append(parts.get(), part) != 0) {
      throw PythonError{};
    }
  };
  if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
      add(PySequence_Fast_GET_ITEM(result, i));
    }
  } else {
    add(result);
  }
  return PyList_GET_SIZE(parts.get()) == 0 ? Object::Borrow(arguments) : Checked(PyList_AsTuple(parts.get()));
}

/// Writes the forward record when the handles have completed.
void Await(const std::shared_ptr<Recording>& recording, PendingCall& pending, Object outputs,
           const std::vector<PyObject*>& handles) {
  const auto output = std::make_shared<PendingOutput>(recording, std::move(pending.forward), pending.module,
                                                      recording->collector.reads_outputs() ? outputs : Object());
  output->SetHandleCount(handles.size());
  for (PyObject* handle : handles) {
    WatchWork(handle, std::make_shared<PendingHandle>(output));
  }
}

void End(const std::shared_ptr<Recording>& recording, PendingCall& pending, PyObject* arguments, PyObject* result,
         Answer answer) {
  const FrameworkAccess::Quiet quiet(recording->framework);
  Collector& collector = recording->collector;
  Object arrived;
  std::vector<PyObject*> handles;
  if (answer == Answer::kCommunication) {
    arrived = Arrived(recording->framework, arguments, result);
    handles = WorkHandlesIn(recording->framework, result);
  }
  PyObject* output = arrived ? arrived.get() : result;
  if (pending.call.keeps_forward && !handles.empty()) {
    Await(recording, pending, arrived, handles);
  } else if (pending.call.keeps_forward) {
    recording->AddOutput(pending.forward, output);
    const StackDescription stack = recording->DescribeStack();
    MarkRecomputed(pending.forward, stack);
    collector.Add(std::move(pending.forward), stack.text, TreePlace{pending.module, stack.root}, Direction::kForward);
  }
  if (collector.data_mode().backward) {
    HookGradients(recording, GradientSubject{std::move(pending.call), nullptr, std::move(pending.module)},
                  pending.inputs, result, pending.sequence_number);
  }
}

}  // namespace

PyObject* RecordedCall(const std::shared_ptr<Recording>& recording, std::size_t api, PyObject* function,
                       PyObject* arguments, PyObject* keywords, Answer answer) {
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
  if (begun == Outcome::kDone && Guarded(*recording, "recording the output of a call", [&] {
                                   End(recording, pending, arguments, output, answer);
                                 }) == Outcome::kInterrupted) {
    Py_DECREF(output);
    return nullptr;
  }
  return output;
}

}  // namespace msprobe
