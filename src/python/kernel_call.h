#pragma once

#include <cstddef>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// Level L2: makes the call and counts it, records nothing. Around the forward that the settings name, the device's own
/// dump is switched on by `recording.kernel_dump.around(function, arguments, keywords)`, which makes the call. For a
/// backward, `recording.kernel_dump.around_backward(output, nodes)` is given the output tensor whose gradient begins it
/// and the nodes that end it. Returns a new reference or null with an exception.
PyObject* KernelDumpedCall(Recording& recording, std::size_t api, PyObject* function, PyObject* arguments,
                           PyObject* keywords);

}  // namespace msprobe
