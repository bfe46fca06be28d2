#include "python/torch/engine_call.h"

#include <utility>

#include "python/method_stand_in.h"

namespace msprobe {
namespace {

PyTypeObject* engine_call_type = nullptr;

/// Who waits on this thread for the engine to be run.
struct Caller {
  const TorchRecording* recording = nullptr;
  PyObject* mode = nullptr;
};

thread_local Caller current_caller;
thread_local int running_engines = 0;

PyObject* CallEngine(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  PyObject* target = reinterpret_cast<MethodStandIn*>(self)->target;
  const Caller caller = std::exchange(current_caller, Caller{});
  Object entered;
  if (caller.mode != nullptr && caller.recording->collector.collecting()) {
    entered = Object::Steal(PyObject_CallOneArg(caller.recording->enter_mode.get(), caller.mode));
    PyErr_Clear();
  }
  ++running_engines;
  PyObject* result = PyObject_Vectorcall(target, arguments, flags, keywords);
  --running_engines;
  if (entered) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    Object::Steal(PyObject_CallOneArg(caller.recording->leave_mode.get(), caller.mode));
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
  current_caller = caller;
  return result;
}

}  // namespace

PyObject* CallEngineFunction(const TorchRecording& recording, PyObject* mode, PyObject* function, PyObject* arguments,
                             PyObject* keywords) {
  const Caller outer = std::exchange(current_caller, Caller{&recording, mode});
  PyObject* result = PyObject_Call(function, arguments, keywords);
  current_caller = outer;
  return result;
}

bool EngineIsRunning() { return running_engines > 0; }

Object MakeEngineCall(PyObject* original) { return MakeStandIn(engine_call_type, CallEngine, original, original); }

void InitialiseEngineCalls() { engine_call_type = MakeStandInType("msprobe._core.EngineCall", sizeof(MethodStandIn)); }

}  // namespace msprobe
