#include "compare/ratio.h"

#include <cmath>
#include <limits>

namespace msprobe {
namespace {

constexpr double kRatioToZero = 10000.0;

}  // namespace

Ratio ComputeRatio(double device, double benchmark) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(device) || std::isinf(benchmark)) {
    const bool equal = device == benchmark;
    return {kNan, equal, equal ? Ratio::Note::kBothInfinite : Ratio::Note::kInfinite};
  }
  if (std::isnan(device) || std::isnan(benchmark)) {
    const bool both = std::isnan(device) && std::isnan(benchmark);
    return {kNan, both, both ? Ratio::Note::kBothNan : Ratio::Note::kOneNan};
  }
  if (benchmark == 0) return {device == 0 ? 1.0 : kRatioToZero, true, Ratio::Note::kNone};
  return {std::fabs(device / benchmark), true, Ratio::Note::kNone};
}

}  // namespace msprobe
