#pragma once

#include <cstdint>

#include "tensor/tensor_view.h"

namespace msprobe {

/// How two integer or bool tensors of equal shape differ, by value, whatever their dtypes.
struct IntegerDifferences {
  std::uint64_t count = 0;
  std::uint64_t different_count = 0;
  double max_difference = 0;  ///< exact up to 2^53
  std::int64_t max_difference_index = -1;
  double max_difference_device = 0;  ///< the two values there
  double max_difference_bench = 0;
};

IntegerDifferences CompareIntegers(const TensorView& device, const TensorView& bench);

}  // namespace msprobe
