#pragma once

#include <cstdint>
#include <optional>

#include "numerics/statistics.h"

namespace msprobe {

/// What a device reduces a floating tensor to, or the absolute values of a complex one: a few numbers of operators that
/// every device has. `known_*` are the extremes with 0 in place of NaN.
struct FloatingReductions {
  double max = 0, min = 0;
  double finite_max = 0, finite_min = 0;  ///< -inf and inf if no element is finite
  double known_max = 0, known_min = 0;
  double sum = 0, norm = 0;
  /// float64 only: sum and norm of the elements times 2^-600, and the norm of the elements times 2^600.
  struct Scaled {
    double sum_down = 0, norm_down = 0, norm_up = 0;
  };
  std::optional<Scaled> scaled;
};

/// The statistics of a tensor of `element_count` elements, at least 1, by the rules of ComputeStatistics; mean and norm
/// as precise as the device's sums. The counts of NaN and infinities are 1 where there are any.
Statistics StatisticsOf(const FloatingReductions& reductions, std::uint64_t element_count);
/// `max` and `min` of an integer tensor.
Statistics StatisticsOf(StatisticValue max, StatisticValue min, double sum, double norm, std::uint64_t element_count);
/// Of a 0-dimensional tensor; `value` is not null.
Statistics StatisticsOfValue(const StatisticValue& value);
Statistics StatisticsOfBools(bool any, bool all, std::uint64_t element_count);

}  // namespace msprobe
