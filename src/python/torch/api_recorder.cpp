#include "python/torch/api_recorder.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "python/callable_type.h"
#include "python/guarded.h"
#include "python/outermost_call.h"
#include "python/recorded_call.h"
#include "python/torch/compiled_regions.h"
#include "python/torch/engine_call.h"
#include "python/torch/operator_note.h"

namespace msprobe {
namespace {

struct ApiRecorder {
  std::shared_ptr<TorchRecording> recording;
  std::uint64_t number;
};

CallableType<ApiRecorder> api_recorder_type;

constexpr int kNoApi = -1;

int FindApi(const TorchRecording& recording, PyObject* function) {
  PyObject* index = PyDict_GetItemWithError(recording.api_table.get(), function);
  if (index == nullptr) {
    PyErr_Clear();  // a function that cannot be hashed is in no list
    return kNoApi;
  }
  return static_cast<int>(PyLong_AsLong(index));
}

/// The engine's own threads inherit the mode.
bool MayBeInBackward(const TorchRecording& recording) {
  return EngineIsRunning() || PyThread_get_thread_ident() != recording.recorder_thread;
}

PyObject* UnlistedCall(TorchRecording& recording, PyObject* function, PyObject* arguments, PyObject* keywords) {
  PyObject* output = PyObject_Call(function, arguments, keywords);
  if (output != nullptr && Guarded(recording, "noting a function that is in no list", [&] {
                             recording.unlisted.Count(recording.framework, function, output);
                           }) == Outcome::kInterrupted) {
    Py_CLEAR(output);
  }
  return output;
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
  const std::shared_ptr<TorchRecording>& recording = recorder.recording;
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

/// torch requires the handler to be a method bound to its mode.
PyObject* Bind(PyObject* self, PyObject* mode, PyObject* /*owner*/) {
  if (mode == nullptr || mode == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, mode);
}

}  // namespace

Object MakeApiRecorder(std::shared_ptr<TorchRecording> recording) {
  const std::uint64_t number = ++recording->newest_recorder;
  recording->recorder_thread = PyThread_get_thread_ident();
  return api_recorder_type.Make({std::move(recording), number});
}

void InitialiseApiRecorder() { api_recorder_type.Initialise("msprobe._core.ApiRecorder", CallRecorder, Bind); }

}  // namespace msprobe
