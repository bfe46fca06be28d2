#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace msprobe {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the value at a position depends
/// on key and position alone, so any order and any worker count give the same numbers.
class Philox {
 public:
  /// The key is a stable 64-bit hash of (seed, API full name, argument position), see RandomKey.
  explicit Philox(std::uint64_t key) : key_(key) {}
  /// 128 random bits for `counter`.
  void Generate(std::uint64_t counter, std::uint32_t out[4]) const;

 private:
  std::uint64_t key_;
};

/// Key for one tensor argument; `position` as in the dump's suffix ("input.0", "kwargs.weight", "input.0.1").
std::uint64_t RandomKey(std::uint64_t seed, std::string_view api_name, std::string_view position);

/// What random data of a recorded tensor must look like (accuracy_checker.md 7.3, with the decisions of
/// precision_metrics.md and fault kinds B70 to B75). Values that the record lacks are absent.
struct RandomRange {
  double low = 0;           ///< finite (or only available) minimum
  double high = 0;          ///< finite (or only available) maximum
  bool low_is_nan = false;  ///< the recorded true extreme is NaN
  bool high_is_nan = false;
  bool has_positive_infinity = false;  ///< the true maximum is +inf: the last element becomes +inf
  bool has_negative_infinity = false;  ///< the true minimum is -inf: the first element becomes -inf
  bool contains_nan = false;           ///< the true extreme is NaN while the finite one is not: one element becomes NaN
  // Integers keep their digits beyond 2^53.
  std::int64_t integer_low = 0;
  std::int64_t integer_high = 0;
};

/// Fills `count` contiguous elements of `dtype` at `out`. Ends are pinned: first element low, last high (one element: high),
/// then NaN and infinities as in the specification. Complex: real and imaginary parts uniform. Bool as closed integers.
void FillRandom(DType dtype, void* out, std::int64_t count, const RandomRange& range, std::uint64_t key);

}  // namespace msprobe
