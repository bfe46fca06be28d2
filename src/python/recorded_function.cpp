#include "python/recorded_function.h"

#include <utility>

#include "python/callable_type.h"
#include "python/method_stand_in.h"
#include "python/outermost_call.h"
#include "python/recorded_call.h"

namespace msprobe {
namespace {

/// What the stand-in calls: it holds the recording, which a stand-in has no room for.
struct FunctionRecorder {
  Object original;
  std::shared_ptr<Recording> recording;
  std::size_t api;
  bool nested;
  Answer answer;

  template <typename Function>
  void ForEachObject(const Function& function) {
    function(original);
  }
};

CallableType<FunctionRecorder> function_recorder_type;
PyTypeObject* recorded_function_type = nullptr;

PyObject* CallFunctionRecorder(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const FunctionRecorder recorder = CallableType<FunctionRecorder>::Of(self);
  const std::shared_ptr<Recording>& recording = recorder.recording;
  if (!recording->TakesCalls() || (OutermostCall::IsRunning() && !recorder.nested)) {
    return PyObject_Call(recorder.original.get(), arguments, keywords);
  }
  return RecordedCall(recording, recorder.api, recorder.original.get(), arguments, keywords, recorder.answer);
}

PyObject* CallStandIn(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  return PyObject_Vectorcall(reinterpret_cast<MethodStandIn*>(self)->target, arguments, flags, keywords);
}

}  // namespace

Object MakeRecordedFunction(std::shared_ptr<Recording> recording, std::size_t api, PyObject* original, bool nested,
                            Answer answer) {
  const Object target =
      function_recorder_type.Make({Object::Borrow(original), std::move(recording), api, nested, answer});
  return MakeStandIn(recorded_function_type, CallStandIn, original, target.get());
}

void InitialiseRecordedFunctions() {
  function_recorder_type.Initialise("msprobe._core.FunctionRecorder", CallFunctionRecorder);
  recorded_function_type = MakeStandInType("msprobe._core.RecordedFunction", sizeof(MethodStandIn));
}

}  // namespace msprobe
