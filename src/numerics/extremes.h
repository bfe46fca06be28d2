#pragma once

#include <limits>

#include "numerics/statistics.h"

namespace msprobe {

/// What is known of a floating tensor's elements. Without finite ones, finite_max is below finite_min.
struct Extremes {
  double finite_max = -std::numeric_limits<double>::infinity();
  double finite_min = std::numeric_limits<double>::infinity();
  bool has_nan = false;
  bool has_positive_infinity = false;
  bool has_negative_infinity = false;
};

/// Sets max, min, finite_max and finite_min; dump_format.md section 8.
inline void SetExtremes(const Extremes& extremes, Statistics& statistics) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // The largest of +0 and -0 depends on the instruction set; adding +0 makes it +0.
  double finite_max = extremes.finite_max + 0.0;
  double finite_min = extremes.finite_min + 0.0;
  if (!(extremes.finite_max >= extremes.finite_min)) {
    const bool all_nan = !extremes.has_positive_infinity && !extremes.has_negative_infinity;
    finite_max = all_nan ? kNan : (extremes.has_positive_infinity ? kInfinity : -kInfinity);
    finite_min = all_nan ? kNan : (extremes.has_negative_infinity ? -kInfinity : kInfinity);
  }
  statistics.finite_max = finite_max;
  statistics.finite_min = finite_min;
  statistics.max = extremes.has_nan ? kNan : (extremes.has_positive_infinity ? kInfinity : finite_max);
  statistics.min = extremes.has_nan ? kNan : (extremes.has_negative_infinity ? -kInfinity : finite_min);
}

}  // namespace msprobe
