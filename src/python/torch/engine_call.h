#pragma once

#include "python/object.h"
#include "python/torch/torch_recording.h"

namespace msprobe {

/// Functions that run autograd's engine are dispatched to the tool's mode like others, and what they call is not. But
/// activation checkpointing makes calls again inside, and those must be seen: the mode goes back on the stack around
/// the engine itself (the engine's threads inherit it), not around autograd's own Python code, whose calls are no
/// records (decisions 6).

/// Calls such a function for the recorder of `mode`. Returns a new reference or null with an exception.
PyObject* CallEngineFunction(const TorchRecording& recording, PyObject* mode, PyObject* function, PyObject* arguments,
                             PyObject* keywords);

/// Whether autograd's engine was called by this thread and has not returned. Known from start to stop only.
bool EngineIsRunning();

/// What stands in for torch's function that runs the engine, from start to stop. Throws PythonError.
Object MakeEngineCall(PyObject* original);

/// Creates its type; once, at import. Throws PythonError.
void InitialiseEngineCalls();

}  // namespace msprobe
