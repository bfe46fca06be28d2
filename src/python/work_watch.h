#pragma once

#include <memory>
#include <vector>

#include "python/framework_access.h"
#include "python/object.h"
#include "python/pending_output.h"

namespace msprobe {

/// Handles of asynchronous calls whose completion somebody waits to learn of. The user's own calls tell: `wait()`, a
/// poll that answers true, the value or a callback of its future. The tool never asks a handle, never waits, and holds
/// handles weakly. For that, methods of the handles' classes (of torch: Work and Future) are replaced while
/// there is a watched handle, and only so long.

/// Whether `object` is a handle of an asynchronous call: its class has `wait`.
bool IsWorkHandle(PyObject* object);

/// The handles among what a call has returned, each once. A call is asynchronous if it hands out handles, however it
/// was told to: async_op by position or keyword, isend and irecv always.
std::vector<PyObject*> WorkHandlesIn(const FrameworkAccess& framework, PyObject* result);

/// Calls `pending->Complete()` when `handle` has completed. Throws PythonError.
void WatchWork(PyObject* handle, std::shared_ptr<PendingHandle> pending);

/// How many handles are watched, in the whole process.
std::size_t WatchedWorkCount();
/// Stops watching all of them.
void ForgetWork();

/// Creates the types; once, at import. Throws PythonError.
void InitialiseWorkWatch();

}  // namespace msprobe
