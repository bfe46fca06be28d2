#pragma once

#include <cmath>
#include <cstdint>
#include <variant>

#include "tensor/tensor_view.h"

namespace msprobe {

/// A statistic in the tensor's own kind: nothing (null), bool, signed, unsigned or floating.
using StatisticValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double>;

inline bool IsNonFinite(const StatisticValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && !std::isfinite(*number);
}

/// Statistics of one tensor (spec decisions 9, pytorch_dump.md 10).
/// - no elements: all null.
/// - bool: max = any, min = all, mean and norm null.
/// - integer: max and min exact; mean and norm in double.
/// - floating: max and min exact in the own dtype, widened to double (NaN if any element is NaN); mean and Euclidean
///   norm accumulated in double, so half precision never overflows.
/// - complex: of absolute values, norm included.
/// - 0 dimensions (not bool): the value four times; norm of a 0-d complex is its absolute value.
/// The result does not depend on the instruction set.
struct Statistics {
  StatisticValue max;
  StatisticValue min;
  StatisticValue mean;
  StatisticValue norm;
  std::uint64_t element_count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
  /// Floating and complex only, dump_format.md section 8: extremes over the finite elements; if there is none, over the
  /// elements that are not NaN; NaN if all are NaN. Equal to max and min when these are finite.
  double finite_max = 0;
  double finite_min = 0;
};

/// One pass over the tensor, at memory bandwidth for contiguous data.
Statistics ComputeStatistics(const TensorView& view);

/// Those of a tensor that has `zeros` zeros more than the elements in `view`, which `statistics` are of: a sparse one.
Statistics WithZeros(Statistics statistics, const TensorView& view, std::uint64_t zeros);

}  // namespace msprobe
