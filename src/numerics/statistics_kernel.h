#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/dtype.h"

namespace msprobe {

/// Running sums of one tensor. Element i of the tensor adds to lane i modulo kLanes, whatever the vector width, and the
/// lanes are combined in one fixed order: so results are equal on every instruction set.
struct StatisticsSums {
  static constexpr std::size_t kLanes = 16;

  alignas(64) double sum[kLanes] = {};
  alignas(64) double square_sum[kLanes] = {};
  // Over the finite elements.
  double max = -std::numeric_limits<double>::infinity();
  double min = std::numeric_limits<double>::infinity();
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
};

/// Adds `count` elements to the sums. Every call but the last for a tensor gets a multiple of kLanes elements. All real
/// dtypes but the fp8 ones, bool and the 64-bit integers, which the caller converts.
void AddToStatistics(DType dtype, const void* data, std::size_t count, StatisticsSums* sums);

/// Sum of all lanes, in the fixed order.
double CombineLanes(const double (&lanes)[StatisticsSums::kLanes]);

}  // namespace msprobe
