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

/// Where torch calls no hook after an exception: ends the calls of this thread that are over, in the same way. To be
/// called before the innermost open call is asked for.
void FinishEndedModules(Recording& recording);

/// Creates the hooks' type; once, at import. Throws PythonError.
void InitialiseModuleHooks();

}  // namespace msprobe
