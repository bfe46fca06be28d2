#pragma once

#include <cstddef>
#include <memory>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// The method that stands as `__torch_function__` of the mode's class: `(mode, func, types, args=(), kwargs=None)`
/// makes the call and, for an API in the table, records it. Exceptions of the call pass unchanged. Recorders made
/// before only make the calls from now on. Throws PythonError.
Object MakeApiRecorder(std::shared_ptr<Recording> recording);

/// Makes the call and records it as a call of `api`: for functions that reach the tool on another way than a mode.
/// `keywords` may be null. Returns a new reference or null with an exception.
PyObject* RecordedCall(const std::shared_ptr<Recording>& recording, std::size_t api, PyObject* function,
                       PyObject* arguments, PyObject* keywords);

/// Creates the type; once, at import. Throws PythonError.
void InitialiseApiRecorder();

}  // namespace msprobe
