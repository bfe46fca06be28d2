#include "python/api_recorder.h"

#include <structmember.h>

#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "python/compiled_regions.h"
#include "python/engine_call.h"
#include "python/gradient_hooks.h"
#include "python/guarded.h"
#include "python/kernel_call.h"
#include "python/module_recorder.h"
#include "python/module_stack.h"
#include "python/operator_note.h"
#include "python/outermost_call.h"

namespace msprobe {
namespace {

struct ApiRecorder {
  PyObject_HEAD vectorcallfunc vectorcall;
  std::shared_ptr<Recording>* recording;
  std::uint64_t number;
};

PyTypeObject* api_recorder_type = nullptr;

/// A call between its begin and its end.
struct PendingCall {
  Call call;
  std::shared_ptr<ModuleCall> module;  ///< the module it was called in
  Record forward;
  std::vector<InputEdge> inputs;
  std::optional<std::uint64_t> sequence_number;
};

int FindApi(const Recording& recording, PyObject* function) {
  PyObject* index = PyDict_GetItemWithError(recording.api_table.get(), function);
  if (index == nullptr) {
    PyErr_Clear();  // a function that cannot be hashed is in no list
    return -1;
  }
  return static_cast<int>(PyLong_AsLong(index));
}

void Begin(Recording& recording, std::size_t api, PyObject* arguments, PyObject* keywords, PendingCall& pending) {
  const TorchAccess::Quiet quiet(recording.torch);
  Collector& collector = recording.collector;
  pending.call = collector.BeginCall(api);
  if (collector.has_modules()) {
    FinishEndedModules(recording);
    if (const OpenModule* open = ModuleStack::Innermost(recording)) {
      pending.module = open->module;
    }
  }
  if (collector.data_mode().backward) {
    pending.inputs = ReadInputEdges(recording.torch, arguments, keywords);
    pending.sequence_number = recording.torch.NextSequenceNumber();
  }
  if (!pending.call.keeps_forward) {
    return;
  }
  pending.forward.name = pending.call.forward_name;
  if (collector.data_mode().input && collector.reads_values()) {
    ElementObject& sections = pending.forward.sections;
    sections.push_back(Member{"input_args", recording.values.CaptureTuple(arguments, pending.forward.name, "input")});
    sections.push_back(Member{"input_kwargs", recording.values.CaptureKeywords(keywords, pending.forward.name)});
  }
}

void End(const std::shared_ptr<Recording>& recording, PendingCall& pending, PyObject* output) {
  const TorchAccess::Quiet quiet(recording->torch);
  Collector& collector = recording->collector;
  if (pending.call.keeps_forward) {
    if (collector.data_mode().output && collector.reads_values()) {
      pending.forward.sections.push_back(
          Member{"output", recording->values.CaptureOutput(output, pending.forward.name)});
    }
    const StackDescription stack = recording->DescribeStack();
    MarkRecomputed(pending.forward, stack);
    if (collector.has_modules()) {
      collector.Add(std::move(pending.forward), stack.text, TreePlace{pending.module, stack.root}, Direction::kForward);
    } else {
      collector.Add(std::move(pending.forward), stack.text);
    }
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
  const std::shared_ptr<Recording> recording = *reinterpret_cast<ApiRecorder*>(self)->recording;
  const int note = TakeOperatorNote(function, call_arguments);
  if (recording->collector.collecting() && reinterpret_cast<ApiRecorder*>(self)->number == recording->newest_recorder) {
    const int api = note >= 0 ? note : FindApi(*recording, function);
    if (api == kEngineFunction && recording->enter_mode) {
      return CallEngineFunction(*recording, arguments[0], function, call_arguments, keywords);
    }
    if (api >= 0 && !OutermostCall::IsRunning() && !(MayBeInBackward(*recording) && CalledByCompiledCode())) {
      return RecordedCall(recording, static_cast<std::size_t>(api), function, call_arguments, keywords);
    }
  }
  return PyObject_Call(function, call_arguments, keywords);
}

/// torch requires the handler to be a method bound to its mode.
PyObject* Bind(PyObject* self, PyObject* mode, PyObject* /*owner*/) {
  if (mode == nullptr || mode == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, mode);
}

void Deallocate(PyObject* self) {
  delete reinterpret_cast<ApiRecorder*>(self)->recording;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
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
  Object object = Checked(api_recorder_type->tp_alloc(api_recorder_type, 0));
  auto* recorder = reinterpret_cast<ApiRecorder*>(object.get());
  recorder->vectorcall = CallRecorder;
  recorder->number = ++recording->newest_recorder;
  recording->recorder_thread = PyThread_get_thread_ident();
  recorder->recording = new std::shared_ptr<Recording>(std::move(recording));
  return object;
}

void InitialiseApiRecorder() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(ApiRecorder, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(Bind)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"msprobe._core.ApiRecorder", sizeof(ApiRecorder), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  Object type = Checked(PyType_FromSpec(&spec));
  api_recorder_type = reinterpret_cast<PyTypeObject*>(type.get());
  Py_INCREF(api_recorder_type);
}

}  // namespace msprobe
