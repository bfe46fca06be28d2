#include "python/compiled_regions.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "python/frames.h"

namespace msprobe {
namespace {

struct RegionWatch {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* original;
  PyObject* enter;
  PyObject* leave;
};

PyTypeObject* region_watch_type = nullptr;

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
  const auto* watch = reinterpret_cast<RegionWatch*>(self);
  const bool sets = PyVectorcall_NARGS(flags) > 0 && arguments[0] != Py_None;
  if (region.watch != self) {
    region = {};
  }
  if (region.owner == nullptr) {
    if (sets) {
      if (!Object::Steal(PyObject_CallNoArgs(watch->enter))) {
        return nullptr;
      }
      region = {Owner(), self};
    }
    return PyObject_Vectorcall(watch->original, arguments, flags, keywords);
  }
  const bool ends = !sets && Owner() == region.owner;
  PyObject* result = PyObject_Vectorcall(watch->original, arguments, flags, keywords);
  if (ends) {
    region = {};
    CallAside(watch->leave);
    if (result != nullptr && PyErr_Occurred() != nullptr) {
      Py_CLEAR(result);
    }
  }
  return result;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<RegionWatch*>(self)->original);
  Py_VISIT(reinterpret_cast<RegionWatch*>(self)->enter);
  Py_VISIT(reinterpret_cast<RegionWatch*>(self)->leave);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<RegionWatch*>(self)->original);
  Py_CLEAR(reinterpret_cast<RegionWatch*>(self)->enter);
  Py_CLEAR(reinterpret_cast<RegionWatch*>(self)->leave);
  return 0;
}

void Deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

Object MakeRegionWatch(PyObject* original, PyObject* enter, PyObject* leave) {
  Object object = Checked(region_watch_type->tp_alloc(region_watch_type, 0));
  auto* watch = reinterpret_cast<RegionWatch*>(object.get());
  watch->vectorcall = Call;
  for (const auto& [slot, value] :
       {std::pair{&watch->original, original}, std::pair{&watch->enter, enter}, std::pair{&watch->leave, leave}}) {
    Py_INCREF(value);
    *slot = value;
  }
  return object;
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

void InitialiseCompiledRegions() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(RegionWatch, vectorcall), READONLY, nullptr},
      {"__wrapped__", T_OBJECT, offsetof(RegionWatch, original), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"msprobe._core.RegionWatch", sizeof(RegionWatch), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  Object type = Checked(PyType_FromSpec(&spec));
  region_watch_type = reinterpret_cast<PyTypeObject*>(type.get());
  Py_INCREF(region_watch_type);
}

}  // namespace msprobe
