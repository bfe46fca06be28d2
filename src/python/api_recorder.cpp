#include "python/api_recorder.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "python/callable_type.h"
#include "python/compiled_regions.h"
#include "python/engine_call.h"
#include "python/gradient_hooks.h"
#include "python/guarded.h"
#include "python/kernel_call.h"
#include "python/module_recorder.h"
#include "python/operator_note.h"
#include "python/outermost_call.h"

namespace msprobe {
namespace {

struct ApiRecorder {
  std::shared_ptr<Recording> recording;
  std::uint64_t number;
};

CallableType<ApiRecorder> api_recorder_type;

/// A call between its begin and its end.
struct PendingCall {
  Call call;
  std::shared_ptr<ModuleCall> module;  ///< the module it was called in
  Record forward;
  std::vector<InputEdge> inputs;
  std::optional<std::uint64_t> sequence_number;
};

constexpr int kNoApi = -1;

int FindApi(const Recording& recording, PyObject* function) {
  PyObject* index = PyDict_GetItemWithError(recording.api_table.get(), function);
  if (index == nullptr) {
    PyErr_Clear();  // a function that cannot be hashed is in no list
    return kNoApi;
  }
  return static_cast<int>(PyLong_AsLong(index));
}

void Begin(Recording& recording, std::size_t api, PyObject* arguments, PyObject* keywords, PendingCall& pending) {
  const TorchAccess::Quiet quiet(recording.torch);
  Collector& collector = recording.collector;
  pending.call = collector.BeginCall(api);
  if (collector.has_modules()) {
    pending.module = RunningModule(recording);
  }
  if (collector.data_mode().backward) {
    pending.inputs = ReadInputEdges(recording.torch, arguments, keywords);
    pending.sequence_number = recording.torch.NextSequenceNumber();
  }
  if (!pending.call.keeps_forward) {
    return;
  }
  pending.forward.name = pending.call.forward_name;
  recording.AddInputs(pending.forward, arguments, keywords);
}

void End(const std::shared_ptr<Recording>& recording, PendingCall& pending, PyObject* output) {
  const TorchAccess::Quiet quiet(recording->torch);
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

/// The engine's own threads inherit the mode.
bool MayBeInBackward(const Recording& recording) {
  return EngineIsRunning() || PyThread_get_thread_ident() != recording.recorder_thread;
}

PyObject* CallRecorder(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keyword_names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count < 3 || (keyword_names != nullptr && PyTuple_GET_SIZE(keyword_names) != 0)) {
    PyErr_SetString(PyExc_TypeError, "expected (mode, func, types, args=(), kwargs=None), all by position");
    return nullptr;
  }
  Object no_arguments;
  PyObject* function = arguments[1];
  PyObject* call_arguments = count > 3 ? arguments[3] : nullptr;
  if (call_arguments == nullptr) {
    no_arguments = Object::Steal(PyTuple_New(0));
    call_arguments = no_arguments.get();
  }
  PyObject* keywords = count > 4 && arguments[4] != Py_None ? arguments[4] : nullptr;
  const ApiRecorder recorder = CallableType<ApiRecorder>::Of(self);
  const std::shared_ptr<Recording>& recording = recorder.recording;
  const int note = TakeOperatorNote(function, call_arguments);
  if (recording->collector.collecting() && recorder.number == recording->newest_recorder) {
    const int api = note >= 0 ? note : FindApi(*recording, function);
    if (api == kEngineFunction && recording->enter_mode) {
      return CallEngineFunction(*recording, arguments[0], function, call_arguments, keywords);
    }
    if (api >= 0 && !OutermostCall::IsRunning() && !(MayBeInBackward(*recording) && CalledByCompiledCode())) {
      return RecordedCall(recording, static_cast<std::size_t>(api), function, call_arguments, keywords);
    }
    if (api == kNoApi && recording->unlisted.is_wanted() && !OutermostCall::IsRunning()) {
      return UnlistedCall(*recording, function, call_arguments, keywords);
    }
  }
  return PyObject_Call(function, call_arguments, keywords);
}

PyObject* UnlistedCall(Recording& recording, PyObject* function, PyObject* arguments, PyObject* keywords) {
  PyObject* output = PyObject_Call(function, arguments, keywords);
  if (output != nullptr && Guarded(recording, "noting a function that is in no list", [&] {
                             recording.unlisted.Count(recording.torch, function, output);
                           }) == Outcome::kInterrupted) {
    Py_CLEAR(output);
  }
  return output;
}

/// torch requires the handler to be a method bound to its mode.
PyObject* Bind(PyObject* self, PyObject* mode, PyObject* /*owner*/) {
  if (mode == nullptr || mode == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, mode);
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

Object MakeApiRecorder(std::shared_ptr<Recording> recording) {
  const std::uint64_t number = ++recording->newest_recorder;
  recording->recorder_thread = PyThread_get_thread_ident();
  return api_recorder_type.Make({std::move(recording), number});
}

void InitialiseApiRecorder() { api_recorder_type.Initialise("msprobe._core.ApiRecorder", CallRecorder, Bind); }

}  // namespace msprobe
