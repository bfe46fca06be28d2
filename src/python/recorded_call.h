#pragma once

#include <cstddef>
#include <memory>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// Makes the call and records it as a call of `api`. `keywords` may be null. Returns a new reference or null with an
/// exception: that of the call, unchanged.
PyObject* RecordedCall(const std::shared_ptr<Recording>& recording, std::size_t api, PyObject* function,
                       PyObject* arguments, PyObject* keywords);

}  // namespace msprobe
