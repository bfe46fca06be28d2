#pragma once

#include <string_view>
#include <vector>

#include "replay/api_traits.h"
#include "replay/details_row.h"
#include "replay/output_value.h"

namespace msprobe {

/// Compares what the two sides returned, one row per leaf in depth-first order (accuracy_checker.md 11.1): lists and
/// tuples element by element, dicts by key, builtins by equality, None as SKIP. Where the structures differ there is
/// one error row that says how.
std::vector<DetailsRow> CompareOutputs(std::string_view api, Treatment treatment, const OutputValue& bench,
                                       const OutputValue& device);

/// The verdict of a direction from its rows.
Verdict Aggregate(const std::vector<DetailsRow>& rows);

}  // namespace msprobe
