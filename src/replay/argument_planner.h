#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/element.h"
#include "replay/argument.h"
#include "replay/tensor_planner.h"
#include "replay/tensor_spec.h"

namespace msprobe {

/// Arguments of one call, with the tensors they refer to in depth-first order, positional before keyword.
struct CallArguments {
  std::vector<Argument> positional;
  std::vector<KeywordArgument> keywords;
  std::vector<TensorSpec> tensors;
};

/// Rebuilds the arguments of a forward record (accuracy_checker.md 7.1, 7.2). A record without any input, or a value
/// that the collector could not describe, is an error that names its position.
Result<CallArguments> PlanArguments(const Record& forward, const TensorContext& context);

/// Whether `element` describes a tensor, and the spec of the gradient that arrives for the first output of a backward
/// record (element 0 of its "input"); nothing but an error where there is none.
Result<TensorSpec> PlanGradient(const Record& backward, const TensorContext& context);

}  // namespace msprobe
