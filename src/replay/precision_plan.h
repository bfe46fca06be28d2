#pragma once

#include <optional>
#include <string_view>

#include "record/element.h"
#include "replay/argument_planner.h"

namespace msprobe {

/// Chooses the raised dtype of every tensor of the bench (accuracy_checker.md 8.1) and of a keyword `dtype`, which
/// would round the bench back to the device's precision; and whether the device call runs under autocast: where
/// float16, bfloat16 and float32 are mixed (fault kind B89), or where a matrix product or convolution of float32 inputs
/// was recorded with an output of lower precision. What autocast rounds on the device is rounded for both sides.
/// Returns autocast's dtype.
std::optional<DType> PlanPrecision(std::string_view api, const Record& forward, CallArguments& call);

/// Raises the gradient by the same rule applied to it alone.
void RaiseGradient(std::string_view api, TensorSpec& gradient);

}  // namespace msprobe
