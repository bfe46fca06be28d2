#pragma once

#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace msprobe {

/// Name of torch's storage class for a dtype as pickles hold it, "FloatStorage"; empty for a dtype that has none and is
/// stored as untyped bytes.
std::string_view StorageClassName(DType dtype);

/// The other way round.
std::optional<DType> StorageClassDType(std::string_view name);

}  // namespace msprobe
