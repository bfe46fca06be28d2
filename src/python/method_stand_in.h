#pragma once

#include "python/object.h"

namespace msprobe {

/// The head of an object that stands in for a method in a class for a while: it binds, compares, hashes and shows
/// attributes like the original, so that tables and identity checks by equality still find it. What it does when called
/// is up to whoever embeds it as the first member.
struct MethodStandIn {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* original;
  PyObject* target;  ///< what it calls: the original, or what makes up for it
};

/// A type for objects of `size` bytes that begin with a MethodStandIn. Throws PythonError.
PyTypeObject* MakeStandInType(const char* name, std::size_t size);

/// A new object of such a type around `original`; `call` is run when it is called. Throws PythonError.
Object MakeStandIn(PyTypeObject* type, vectorcallfunc call, PyObject* original, PyObject* target);

}  // namespace msprobe
