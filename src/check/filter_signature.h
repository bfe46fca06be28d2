#pragma once

#include <string>

#include "record/element.h"

namespace msprobe {

/// What `-f` compares (precision_standards.md (ii) 25, fault kind B78): the structure, dtypes, shapes and plain values
/// of all positional and keyword arguments. Statistics, checksums and file names are left out, so two calls of one
/// layer in two steps are equal. Keywords count by name, not by order.
std::string FilterSignature(const Record& forward);

}  // namespace msprobe
