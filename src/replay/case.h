#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/element.h"
#include "replay/api_traits.h"
#include "replay/argument.h"
#include "replay/replay_settings.h"
#include "replay/tensor_spec.h"

namespace msprobe {

/// The message {"type": "case", ...} of the parent: one recorded call.
struct CaseRequest {
  std::int64_t index = 0;
  std::string name;
  Record forward;
  std::optional<Record> backward;
  std::string problem;  ///< not empty: why the records could not be read
};

/// Fails only where not even name and index can be told.
Result<CaseRequest> ParseCaseRequest(std::string_view message);

/// Whether and how the backward of a call is checked (accuracy_checker.md 10).
struct BackwardPlan {
  bool run = false;
  std::string skip_reason;    ///< not empty: the backward is SKIP with this message
  std::optional<int> output;  ///< which of several outputs is differentiated
  std::optional<TensorSpec> gradient;
};

/// Everything that is decided about one call before it is made. The Python side makes tensors and calls; it decides
/// nothing.
struct Case {
  std::int64_t index = 0;
  std::string name;      ///< "Torch.linalg.norm.0"
  std::string kind;      ///< "Torch"
  std::string api;       ///< "linalg.norm", as recorded
  std::string function;  ///< what is called: api, or its dotted name where newer dumps keep the last part only
  std::vector<Argument> positional;
  std::vector<KeywordArgument> keywords;
  std::vector<TensorSpec> tensors;
  bool in_place = false;             ///< the call changes its first argument, by its name or by inplace=True
  std::vector<std::size_t> updated;  ///< tensors that the call changes without autograd counting it
  BackwardPlan backward;
  Treatment treatment = Treatment::kValues;
  std::optional<DType> autocast;  ///< the device call runs under autocast of this dtype
  std::uint32_t seed = 0;         ///< for the random generators, before each side's call
  std::string note;               ///< what was changed for the replay; stands in every message
};

/// Plans one call. An error is the reason of a SKIP row: the name is not in the list of what may be called, an argument
/// cannot be rebuilt, a file cannot be read.
Result<Case> PlanCase(const CaseRequest& request, const ReplaySettings& settings);

}  // namespace msprobe
