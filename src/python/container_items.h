#pragma once

#include "python/object.h"

namespace msprobe {

/// The parts of a value that is recorded by key: a list of (key, value) pairs of a dict, any other mapping or a
/// dataclass (its fields); null for every other value. Whatever looks into containers uses this, so that all see the
/// same parts. Throws PythonError where the user's own code in the container raises.
Object KeyedItems(PyObject* value);

}  // namespace msprobe
