#pragma once

#include <memory>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// The two forward hooks of one module: `before(module, args[, kwargs])` and `after(module, args, output)`. `module` is
/// its index in the collector. Each does nothing while the recording does not collect. Throws PythonError.
Object MakeModuleHook(std::shared_ptr<Recording> recording, std::size_t module, bool before);

/// Collecting pauses while module calls of this thread are open: their records are written with what there is.
void FinishOpenModules(Recording& recording);

/// The innermost module call that runs on this thread, or null. Where torch calls no hook after an exception, calls
/// that are over are ended first, in the same way.
std::shared_ptr<ModuleCall> RunningModule(Recording& recording);

/// Creates the hooks' type; once, at import. Throws PythonError.
void InitialiseModuleHooks();

}  // namespace msprobe
