#pragma once

#include <memory>
#include <string>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// Writes `variable` to debug.json as `{name}.{n}.debug`, tensors to files where the task saves them (mindspore_dump.md
/// 16.3). `with_gradients`: also `{name}_grad.{n}.debug`, of the same structure, when the gradients have arrived or the
/// step ends; hooks on the tensors change nothing and are gone by then. Nothing while the step has no files. Throws
/// PythonError.
void SaveValue(const std::shared_ptr<Recording>& recording, const std::string& name, PyObject* variable,
               bool with_gradients);

/// Writes what has arrived of gradients that are still incomplete, nulls for the rest. Called when a step ends.
void FinishSavedGradients(Recording& recording);

/// In a forked child: the gradients are the parent's.
void ForgetSavedGradients(Recording& recording);

/// Creates the hook's type; once, at import. Throws PythonError.
void InitialiseSavedGradients();

}  // namespace msprobe
