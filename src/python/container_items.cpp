#include "python/container_items.h"

namespace msprobe {
namespace {

Object ImportedAttribute(const char* module_name, const char* name) {
  Object module = Checked(PyImport_ImportModule(module_name));
  return Checked(PyObject_GetAttrString(module.get(), name));
}

Object FieldItems(PyObject* value) {
  static PyObject* const fields_of = Object(ImportedAttribute("dataclasses", "fields")).Release();
  const Object fields = Checked(PyObject_CallOneArg(fields_of, value));
  const Object items = Checked(PyList_New(0));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields.get()); ++i) {
    const Object name = Checked(PyObject_GetAttrString(PyTuple_GET_ITEM(fields.get(), i), "name"));
    Object part = Object::Steal(PyObject_GetAttr(value, name.get()));
    if (!part) {
      if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
        throw PythonError{};
      }
      PyErr_Clear();
      part = Object::Borrow(Py_None);
    }
    const Object pair = Checked(PyTuple_Pack(2, name.get(), part.get()));
    if (PyList_Append(items.get(), pair.get()) != 0) {
      throw PythonError{};
    }
  }
  return items;
}

/// What `items()` gives, where the user's class keeps to pairs.
Object ItemsOf(PyObject* mapping) {
  Object items = Checked(PyMapping_Items(mapping));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
      return {};
    }
  }
  return items;
}

bool IsMapping(PyTypeObject* type) {
  static PyObject* const mapping = Object(ImportedAttribute("collections.abc", "Mapping")).Release();
  const int is_mapping = PyObject_IsSubclass(reinterpret_cast<PyObject*>(type), mapping);
  PyErr_Clear();
  return is_mapping == 1;
}

}  // namespace

Object KeyedItems(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  if (PyDict_Check(value)) {
    // An OrderedDict has an order of its own.
    return PyODict_Check(value) ? ItemsOf(value) : Checked(PyDict_Items(value));
  }
  if (type == &PyDictProxy_Type) {
    return ItemsOf(value);
  }
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) {
    return {};  // numbers, text, torch's and numpy's own: no class that Python code has made
  }
  // Of the type: an object that makes up attributes (a tracer's proxy) is no dataclass.
  const Object fields =
      Object::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dataclass_fields__"));
  PyErr_Clear();
  if (fields && PyDict_Check(fields.get())) {
    return FieldItems(value);
  }
  return IsMapping(type) ? ItemsOf(value) : Object();
}

}  // namespace msprobe
