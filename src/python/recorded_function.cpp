#include "python/recorded_function.h"

#include <utility>

#include "python/api_recorder.h"
#include "python/method_stand_in.h"
#include "python/outermost_call.h"

namespace msprobe {
namespace {

/// What the stand-in calls: it holds the recording, which a stand-in has no room for.
struct FunctionRecorder {
  PyObject_HEAD PyObject* original;
  std::shared_ptr<Recording>* recording;
  std::size_t api;
};

PyTypeObject* function_recorder_type = nullptr;
PyTypeObject* recorded_function_type = nullptr;

PyObject* CallFunctionRecorder(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const auto* recorder = reinterpret_cast<FunctionRecorder*>(self);
  const Object original = Object::Borrow(recorder->original);
  const std::shared_ptr<Recording> recording = *recorder->recording;
  if (!recording->collector.collecting() || OutermostCall::IsRunning() || TorchAccess::Quiet::IsActive()) {
    return PyObject_Call(original.get(), arguments, keywords);
  }
  return RecordedCall(recording, recorder->api, original.get(), arguments, keywords);
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<FunctionRecorder*>(self)->original);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<FunctionRecorder*>(self)->original);
  return 0;
}

void Deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Clear(self);
  delete reinterpret_cast<FunctionRecorder*>(self)->recording;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* CallStandIn(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(reinterpret_cast<MethodStandIn*>(self)->target, arguments, flags, keywords);
}

}  // namespace

Object MakeRecordedFunction(std::shared_ptr<Recording> recording, std::size_t api, PyObject* original) {
  Object target = Checked(function_recorder_type->tp_alloc(function_recorder_type, 0));
  auto* recorder = reinterpret_cast<FunctionRecorder*>(target.get());
  Py_INCREF(original);
  recorder->original = original;
  recorder->recording = new std::shared_ptr<Recording>(std::move(recording));
  recorder->api = api;
  return MakeStandIn(recorded_function_type, CallStandIn, original, target.get());
}

void InitialiseRecordedFunctions() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                {Py_tp_call, reinterpret_cast<void*>(CallFunctionRecorder)},
                                {0, nullptr}};
  static PyType_Spec spec = {"msprobe._core.FunctionRecorder", sizeof(FunctionRecorder), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  Object type = Checked(PyType_FromSpec(&spec));
  Py_INCREF(type.get());
  function_recorder_type = reinterpret_cast<PyTypeObject*>(type.get());
  recorded_function_type = MakeStandInType("msprobe._core.RecordedFunction", sizeof(MethodStandIn));
}

}  // namespace msprobe
