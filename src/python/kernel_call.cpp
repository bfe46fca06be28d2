#include "python/kernel_call.h"

#include "python/outermost_call.h"

namespace msprobe {
namespace {

bool IsTheOne(Recording& recording, const Call& call) {
  const std::string& wanted = recording.collector.settings().kernel_name;
  if (call.forward_name == wanted) {
    return true;
  }
  if (call.Name(Direction::kBackward) != wanted) {
    return false;
  }
  recording.collector.AdmitBackward(call, nullptr);  // so that the filters know that it occurred
  return true;
}

}  // namespace

PyObject* KernelDumpedCall(Recording& recording, std::size_t api, PyObject* function, PyObject* arguments,
                           PyObject* keywords) {
  const Call call = recording.collector.BeginCall(api);
  const OutermostCall running;
  PyObject* output = nullptr;
  if (IsTheOne(recording, call)) {
    output = PyObject_CallFunctionObjArgs(recording.kernel_dump.get(), function, arguments,
                                          keywords == nullptr ? Py_None : keywords, nullptr);
  } else {
    output = PyObject_Call(function, arguments, keywords);
  }
  if (output == nullptr) {
    recording.collector.AbandonCall(call, {});
  }
  return output;
}

}  // namespace msprobe
