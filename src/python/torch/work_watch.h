#pragma once

#include <memory>

#include "python/object.h"
#include "python/pending_output.h"

namespace msprobe {

/// Handles of asynchronous calls whose completion somebody waits to learn of. The user's own calls tell: `wait()`, a
/// poll that answers true, the value or a callback of its future. The tool never asks a handle, never waits, and holds
/// handles weakly. For that, methods of the handles' classes (torch.distributed.Work, torch.Future) are replaced while
/// there is a watched handle, and only so long.

/// Whether `object` is a handle of an asynchronous call: its class has `wait`.
bool IsWorkHandle(PyObject* object);

/// Calls `pending->Complete()` when `handle` has completed. Throws PythonError.
void WatchWork(PyObject* handle, std::shared_ptr<PendingHandle> pending);

/// How many handles are watched, in the whole process.
std::size_t WatchedWorkCount();
/// Stops watching all of them.
void ForgetWork();

/// Creates the types; once, at import. Throws PythonError.
void InitialiseWorkWatch();

}  // namespace msprobe
