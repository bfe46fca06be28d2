#pragma once

#include <memory>

#include "python/object.h"
#include "python/torch/torch_recording.h"

namespace msprobe {

/// The method that stands as `__torch_function__` of the mode's class: `(mode, func, types, args=(), kwargs=None)`
/// makes the call and, for an API in the table, records it. Exceptions of the call pass unchanged. Recorders made
/// before only make the calls from now on. Throws PythonError.
Object MakeApiRecorder(std::shared_ptr<TorchRecording> recording);

/// Creates the type; once, at import. Throws PythonError.
void InitialiseApiRecorder();

}  // namespace msprobe
