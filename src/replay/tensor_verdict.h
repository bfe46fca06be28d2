#pragma once

#include <string_view>

#include "replay/api_traits.h"
#include "replay/details_row.h"
#include "replay/output_value.h"

namespace msprobe {

/// Judges one output or gradient of an API: gates, metrics and the ladder of precision_metrics.md 1.1, 4 and 5, with
/// the decisions of its section 8. `api` is the name without kind and number, for the lists of the standard.
DetailsRow JudgeTensors(std::string_view api, const HostTensor& bench, const HostTensor& device);

/// Dropout: the shares of zeros differ by less than 0.1; fewer than 100 elements always pass
/// (accuracy_checker.md 11.1).
DetailsRow JudgeDropout(const HostTensor& bench, const HostTensor& device);

/// Random or uninitialised values: dtype and shape only.
DetailsRow JudgeByShape(Treatment treatment, const HostTensor& bench, const HostTensor& device);

}  // namespace msprobe
