#pragma once

#include <optional>
#include <string_view>

#include "collect/collector.h"
#include "python/object.h"
#include "record/element.h"

namespace msprobe {

/// A numpy array or scalar as an element, nothing for any other value. An array of numbers has statistics, and a file
/// `file_stem` where files are saved; one of text a file alone, one of dates or objects neither. Throws PythonError.
std::optional<Element> CaptureNumpy(PyObject* value, Collector& collector, std::string_view file_stem);

}  // namespace msprobe
