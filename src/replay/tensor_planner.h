#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "record/element.h"
#include "replay/replay_settings.h"
#include "replay/tensor_spec.h"

namespace msprobe {

/// What the planning of a tensor depends on besides its record.
struct TensorContext {
  const ReplaySettings* settings = nullptr;
  std::string_view call_name;  ///< "Functional.conv2d.0"
  std::string_view api;        ///< "conv2d"
};

/// The spec of a recorded tensor: dtype, shape, layout, and its values from the file that the record names, else random
/// ones (accuracy_checker.md 7.2 to 7.5). `bench_dtype` is not yet raised. Errors say what the record lacks.
Result<TensorSpec> PlanTensor(const TensorElement& tensor, std::string position, const TensorContext& context);

}  // namespace msprobe
