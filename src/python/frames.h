#pragma once

#include <Python.h>
#include <frameobject.h>

#include "python/object.h"

namespace msprobe {

/// The Python frame that runs now on this thread; null if there is none.
inline Object CurrentFrame() { return Object::Borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame())); }

/// The frame that `frame` was called from; null for the outermost.
inline Object CallerOf(PyObject* frame) {
  return Object::Steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(reinterpret_cast<PyFrameObject*>(frame))));
}

inline Object CodeOf(PyObject* frame) {
  return Object::Steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame))));
}

}  // namespace msprobe
