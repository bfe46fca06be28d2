#pragma once

#include <Python.h>

#include <utility>

namespace msprobe {

/// An owned reference. The hot path of a recorded call uses the C API directly: it costs a few nanoseconds where a
/// binding library's wrappers cost hundreds.
class Object {
 public:
  Object() = default;
  /// Takes over a new reference (may be null).
  static Object Steal(PyObject* object) {
    Object result;
    result.object_ = object;
    return result;
  }
  static Object Borrow(PyObject* object) {
    Py_XINCREF(object);
    return Steal(object);
  }
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* Release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Thrown inside this folder when the C API has set a Python exception; never leaves a function that Python calls.
struct PythonError {};

/// Whether the pending exception is not the tool's business: Ctrl-C, SystemExit, an alarm of the user that is no
/// Exception. It must reach the training.
inline bool IsInterrupt() { return PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_Exception) == 0; }

/// A new reference that must not be null.
inline Object Checked(PyObject* object) {
  if (object == nullptr) {
    throw PythonError{};
  }
  return Object::Steal(object);
}

}  // namespace msprobe
