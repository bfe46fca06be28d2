#pragma once

#include <cstddef>
#include <memory>

#include "python/object.h"
#include "python/recorded_call.h"
#include "python/recording.h"

namespace msprobe {

/// A callable that stands in for a function that the user has registered, and behaves like it (see method_stand_in.h).
/// While the recording collects, its outermost calls are recorded as calls of `api`. Throws PythonError.
/// `nested`: calls inside another recorded call are recorded, too.
Object MakeRecordedFunction(std::shared_ptr<Recording> recording, std::size_t api, PyObject* original,
                            bool nested = false, Answer answer = Answer::kResult);

/// Creates its types; once, at import. Throws PythonError.
void InitialiseRecordedFunctions();

}  // namespace msprobe
