#include "python/framework_access.h"

namespace msprobe {
namespace {

thread_local int quiet_depth = 0;

}  // namespace

PyObject* InternedName(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (name == nullptr) {
    throw PythonError{};
  }
  return name;
}

PyTypeObject* ClassIn(PyObject* module, const char* name) {
  const Object type = Checked(PyObject_GetAttrString(module, name));
  if (PyType_Check(type.get()) == 0) {
    PyErr_Format(PyExc_TypeError, "%s is not a class", name);
    throw PythonError{};
  }
  return reinterpret_cast<PyTypeObject*>(type.get());
}

bool AppendIntegers(PyObject* sequence, std::vector<std::int64_t>& out) {
  Object fast = Object::Steal(PySequence_Fast(sequence, "not a sequence"));
  if (!fast) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long value = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(fast.get(), i));
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return false;
    }
    out.push_back(value);
  }
  return true;
}

bool FrameworkAccess::BoolAttribute(PyObject* object, PyObject* name) const {
  Object value = Object::Steal(PyObject_GetAttr(object, name));
  if (!value) {
    PyErr_Clear();
    return false;
  }
  return value.get() == Py_True;
}

std::int64_t FrameworkAccess::StorageOffset(PyObject* tensor) const {
  Object value = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.storage_offset));
  const long long offset = value ? PyLong_AsLongLong(value.get()) : 0;
  PyErr_Clear();
  return offset < 0 ? 0 : offset;
}

std::optional<std::uint64_t> FrameworkAccess::SequenceNumber(PyObject* node) const {
  Object number = Object::Steal(PyObject_CallMethodNoArgs(node, names_.sequence_number));
  if (!number) {
    PyErr_Clear();
    return std::nullopt;
  }
  return PyLong_AsUnsignedLongLongMask(number.get());
}

Object FrameworkAccess::RegisterTensorHook(PyObject* tensor, PyObject* hook) const {
  return Checked(PyObject_CallMethodOneArg(tensor, names_.register_hook, hook));
}

bool FrameworkAccess::Quiet::IsActive() { return quiet_depth > 0; }

FrameworkAccess::Quiet::Quiet(const FrameworkAccess& framework) : framework_(framework) {
  if (quiet_depth++ == 0) {
    begin_ = std::chrono::steady_clock::now();
    guard_ = framework.BeginQuiet();
    PyErr_Clear();
  }
}

FrameworkAccess::Quiet::~Quiet() {
  if (--quiet_depth == 0) {
    framework_.time_inside_ += std::chrono::steady_clock::now() - begin_;
  }
  if (guard_) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);  // a pending exception of the user's call passes unchanged
    framework_.EndQuiet(guard_.get());
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
}

}  // namespace msprobe
