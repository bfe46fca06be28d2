#pragma once

#include "base/result.h"
#include "numerics/random.h"
#include "record/element.h"

namespace msprobe {

/// The range of random values from the statistics of a record, for all three generations of keys (dump_format.md 8,
/// fault kinds B70 to B75). A tensor without elements needs no statistics; else a null or missing extreme is an error.
Result<RandomRange> PlanRandomRange(const TensorElement& tensor, bool has_elements);

}  // namespace msprobe
