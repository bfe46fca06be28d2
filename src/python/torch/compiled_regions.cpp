#include "python/torch/compiled_regions.h"

#include <cstring>

#include "python/callable_type.h"
#include "python/frames.h"

namespace msprobe {
namespace {

struct RegionWatch {
  Object original;
  Object enter;
  Object leave;

  template <typename Function>
  void ForEachObject(const Function& function) {
    function(original);
    function(enter);
    function(leave);
  }
  PyObject* Wrapped() const { return original.get(); }
};

CallableType<RegionWatch> region_watch_type;

/// The region that runs on this thread: who announced it to which watch. Addresses, compared only: the owner lives
/// until it has taken its callback back.
struct Region {
  const void* owner = nullptr;
  const void* watch = nullptr;
};

thread_local Region region;

Object Attribute(PyObject* object, const char* name) {
  Object value = Object::Steal(object == nullptr ? nullptr : PyObject_GetAttrString(object, name));
  PyErr_Clear();
  return value;
}

bool HasName(PyObject* code, const char* name) {
  const Object own = Attribute(code, "co_name");
  return own && PyUnicode_CompareWithASCIIString(own.get(), name) == 0;
}

/// Who sets and takes back a callback: the frame of a callable's wrapper; a context manager's two frames are one owner.
const void* Owner() {
  Object frame = CurrentFrame();
  Object code = Attribute(frame.get(), "f_code");
  if (HasName(code.get(), "_maybe_set_eval_frame")) {  // a function of torch around the one we stand in for
    frame = Attribute(frame.get(), "f_back");
    code = Attribute(frame.get(), "f_code");
  }
  if (HasName(code.get(), "__enter__") || HasName(code.get(), "__exit__")) {
    const Object locals = Attribute(frame.get(), "f_locals");
    Object self = Object::Steal(locals ? PyMapping_GetItemString(locals.get(), "self") : nullptr);
    PyErr_Clear();
    return self.get();
  }
  return frame.get();
}

/// Calls without arguments; a pending exception stays.
void CallAside(PyObject* function) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const Object result = Object::Steal(PyObject_CallNoArgs(function));
  if (type != nullptr) {
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
}

PyObject* Call(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* keywords) {
  const RegionWatch watch = CallableType<RegionWatch>::Of(self);
  const bool sets = PyVectorcall_NARGS(flags) > 0 && arguments[0] != Py_None;
  if (region.watch != self) {
    region = {};
  }
  if (region.owner == nullptr) {
    if (sets) {
      if (!Object::Steal(PyObject_CallNoArgs(watch.enter.get()))) {
        return nullptr;
      }
      region = {Owner(), self};
    }
    return PyObject_Vectorcall(watch.original.get(), arguments, flags, keywords);
  }
  const bool ends = !sets && Owner() == region.owner;
  PyObject* result = PyObject_Vectorcall(watch.original.get(), arguments, flags, keywords);
  if (ends) {
    region = {};
    CallAside(watch.leave.get());
    if (result != nullptr && PyErr_Occurred() != nullptr) {
      Py_CLEAR(result);
    }
  }
  return result;
}

}  // namespace

Object MakeRegionWatch(PyObject* original, PyObject* enter, PyObject* leave) {
  return region_watch_type.Make({Object::Borrow(original), Object::Borrow(enter), Object::Borrow(leave)});
}

void EnterRunningRegion(PyObject* watch, PyObject* frame) { region = {frame, watch}; }

bool CalledByCompiledCode() {
  for (Object frame = CurrentFrame(); frame; frame = CallerOf(frame.get())) {
    const Object code = CodeOf(frame.get());
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (file == nullptr) {
      PyErr_Clear();
    } else if (std::strstr(file, "torch/_functorch/_aot_autograd/") != nullptr ||
               std::strstr(file, "torch/_functorch/aot_autograd.py") != nullptr) {
      return true;
    }
  }
  return false;
}

void InitialiseCompiledRegions() { region_watch_type.Initialise("msprobe._core.RegionWatch", Call); }

}  // namespace msprobe
