#include "python/method_stand_in.h"

#include <structmember.h>

#include <cstddef>

namespace msprobe {
namespace {

PyObject* Original(PyObject* self) { return reinterpret_cast<MethodStandIn*>(self)->original; }

/// Methods are bound on access through an instance; through the class the object itself is handed out.
PyObject* Bind(PyObject* self, PyObject* instance, PyObject* /*owner*/) {
  if (instance == nullptr || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

/// Everything else (`__name__`, `__doc__`, `__wrapped__`, ...) is the original's.
PyObject* Attribute(PyObject* self, PyObject* name) {
  for (const char* of_original : {"__doc__", "__module__", "__class__"}) {  // every type has its own
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, of_original) == 0) {
      return PyObject_GetAttr(Original(self), name);
    }
  }
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return own;
  }
  PyErr_Clear();
  return PyObject_GetAttr(Original(self), name);
}

PyObject* Compare(PyObject* self, PyObject* other, int operation);

PyObject* Unwrapped(PyObject* object) { return Py_TYPE(object)->tp_richcompare == Compare ? Original(object) : object; }

PyObject* Compare(PyObject* self, PyObject* other, int operation) {
  return PyObject_RichCompare(Unwrapped(self), Unwrapped(other), operation);
}

Py_hash_t Hash(PyObject* self) { return PyObject_Hash(Original(self)); }

/// Whether a Python function's module and qualified name lead to the stand-in: the place was replaced, not another
/// name.
bool StandsAtItsPlace(PyObject* self) {
  const Object module_name = Object::Steal(PyObject_GetAttrString(Original(self), "__module__"));
  const Object name = Object::Steal(PyObject_GetAttrString(Original(self), "__qualname__"));
  const Object module = module_name ? Object::Steal(PyImport_GetModule(module_name.get())) : Object();
  const Object dot = Object::Steal(PyUnicode_FromString("."));
  const Object parts = name && dot ? Object::Steal(PyUnicode_Split(name.get(), dot.get(), -1)) : Object();
  Object found = module;
  for (Py_ssize_t i = 0; parts && found && i < PyList_GET_SIZE(parts.get()); ++i) {
    found = Object::Steal(PyObject_GetAttr(found.get(), PyList_GET_ITEM(parts.get(), i)));
  }
  PyErr_Clear();
  return found.get() == self || !module;
}

/// Copies and pickles refer to the method by its place, as those of the original do: what is found there when they are
/// read back, with the tool or without it.
PyObject* Reduce(PyObject* self, PyObject* /*protocol*/) {
  Object owner = Object::Steal(PyObject_GetAttrString(Original(self), "__objclass__"));
  if (!owner) {  // a Python function: by its qualified name
    PyErr_Clear();
    if (StandsAtItsPlace(self)) {
      return PyObject_GetAttrString(Original(self), "__qualname__");
    }
    const Object copy = Object::Steal(PyImport_ImportModule("copy"));  // copy.copy gives functions back as they are
    const Object same = copy ? Object::Steal(PyObject_GetAttrString(copy.get(), "copy")) : Object();
    return same ? Py_BuildValue("O(O)", same.get(), Original(self)) : nullptr;
  }
  Object name = Object::Steal(PyObject_GetAttrString(Original(self), "__name__"));
  Object builtins = Object::Steal(PyImport_ImportModule("builtins"));
  Object getter = builtins ? Object::Steal(PyObject_GetAttrString(builtins.get(), "getattr")) : Object();
  return name && getter ? Py_BuildValue("O(OO)", getter.get(), owner.get(), name.get()) : nullptr;
}

int Traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Original(self));
  Py_VISIT(reinterpret_cast<MethodStandIn*>(self)->target);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int Clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<MethodStandIn*>(self)->original);
  Py_CLEAR(reinterpret_cast<MethodStandIn*>(self)->target);
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

PyTypeObject* MakeStandInType(const char* name, std::size_t size) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(MethodStandIn, vectorcall), READONLY, nullptr},
      {"__wrapped__", T_OBJECT, offsetof(MethodStandIn, original), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__reduce_ex__", Reduce, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_traverse, reinterpret_cast<void*>(Traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(Clear)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(Bind)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(Compare)},
                                {Py_tp_hash, reinterpret_cast<void*>(Hash)},
                                {Py_tp_getattro, reinterpret_cast<void*>(Attribute)},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  PyType_Spec spec = {
      name, static_cast<int>(size), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  Object type = Checked(PyType_FromSpec(&spec));
  Py_INCREF(type.get());  // types live as long as the extension
  return reinterpret_cast<PyTypeObject*>(type.get());
}

Object MakeStandIn(PyTypeObject* type, vectorcallfunc call, PyObject* original, PyObject* target) {
  Object object = Checked(type->tp_alloc(type, 0));
  auto* stand_in = reinterpret_cast<MethodStandIn*>(object.get());
  stand_in->vectorcall = call;
  Py_INCREF(original);
  stand_in->original = original;
  Py_INCREF(target);
  stand_in->target = target;
  return object;
}

}  // namespace msprobe
