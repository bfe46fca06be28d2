#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "python/framework_access.h"
#include "python/object.h"
#include "record/element.h"

namespace msprobe {

/// UTF-8 text of a str; surrogates become '?'. Throws PythonError.
std::string Utf8Text(PyObject* unicode);

/// `str(object)`. Throws PythonError.
std::string TextOf(PyObject* object);

/// A Python int as the smallest kind that holds it; beyond 64 bits as double, as a JSON reader would.
Element IntegerElement(PyObject* number);

/// Anything with `__index__` as an integer, else null: slice ends may be numpy integers or tensors. A symbolic number
/// is what it was traced with; asking it would bind the traced graph to that.
Element IndexElement(PyObject* value);

/// Numbers, texts, lists, tuples and dicts as JSON has them, without types; null for any other. Throws PythonError.
Element JsonElement(PyObject* value);

/// Values without parts that are no tensors and no numpy's (dump_format.md 5); nothing for any other. `key`: the
/// keyword the value was passed under, empty for positions; what is passed as a dtype or device is recorded as one.
/// Throws PythonError.
std::optional<Element> CapturePlainValue(const FrameworkAccess& framework, PyObject* value, std::string_view key);

}  // namespace msprobe
