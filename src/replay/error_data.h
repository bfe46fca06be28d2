#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "replay/output_value.h"

namespace msprobe {

/// Which tensors a saved file belongs to (accuracy_checker.md 12).
enum class ErrorDataPart : std::uint8_t {
  kForwardInput,
  kForwardBench,
  kForwardDevice,
  kBackwardInput,
  kBackwardBench,
  kBackwardDevice,
};

/// Saves the tensors in `value` as `<call>.forward.output.bench.<k>.pt` and so on into `directory`, which is made if it
/// is missing. `index` counts leaves depth-first, tensors or not, and goes on where the last call stopped: keyword
/// arguments are numbered after the positional ones. Dict values in order.
Status SaveErrorData(const std::string& directory, std::string_view call_name, ErrorDataPart part,
                     const OutputValue& value, std::size_t& index);

}  // namespace msprobe
