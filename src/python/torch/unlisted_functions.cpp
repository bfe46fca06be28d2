#include "python/torch/unlisted_functions.h"

#include <cstdlib>
#include <string_view>

#include "python/value_capture.h"

namespace msprobe {
namespace {

/// `x.grad` reaches a mode as a call of the property's getter.
bool IsProperty(PyObject* function) { return std::string_view(Py_TYPE(function)->tp_name) == "method-wrapper"; }

bool HasTensor(const FrameworkAccess& framework, PyObject* value) {
  bool found = false;
  ForEachTensor(framework, value, [&](PyObject* /*tensor*/) { found = true; });
  return found;
}

}  // namespace

UnlistedFunctions::UnlistedFunctions() {
  const char* value = std::getenv("MSPROBE_REPORT_UNLISTED");
  is_wanted_ = value != nullptr && std::string_view(value) == "1";
}

void UnlistedFunctions::Count(const FrameworkAccess& framework, PyObject* function, PyObject* output) {
  if (IsProperty(function)) {
    return;
  }
  const FrameworkAccess::Quiet quiet(framework);
  if (!HasTensor(framework, output)) {
    return;
  }
  auto found = functions_.find(function);
  if (found == functions_.end()) {
    if (functions_.size() == kMostFunctions) {
      return;
    }
    found = functions_.emplace(function, Entry{Object::Borrow(function)}).first;
  }
  ++found->second.calls;
}

Object UnlistedFunctions::TakeNew() {
  Object result = Checked(PyDict_New());
  for (auto& [function, entry] : functions_) {
    if (entry.taken) {
      continue;
    }
    const Object calls = Checked(PyLong_FromUnsignedLongLong(entry.calls));
    if (PyDict_SetItem(result.get(), function, calls.get()) != 0) {
      PyErr_Clear();  // a function that cannot be hashed has no name either
    }
    entry.taken = true;
  }
  return result;
}

}  // namespace msprobe
