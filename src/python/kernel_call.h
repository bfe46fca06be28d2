#pragma once

#include <cstddef>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// Level L2: makes the call and counts it, records nothing. The one call that the settings name, forward or backward,
/// is made by `recording.kernel_dump(function, arguments, keywords)` instead, which switches the device's own dump on
/// around it. Returns a new reference or null with an exception.
PyObject* KernelDumpedCall(Recording& recording, std::size_t api, PyObject* function, PyObject* arguments,
                           PyObject* keywords);

}  // namespace msprobe
