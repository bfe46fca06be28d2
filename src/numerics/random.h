#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/dtype.h"

namespace msprobe {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 128 random bits for a counter
/// and a key.
void Philox4x32(const std::uint32_t counter[4], const std::uint32_t key[2], std::uint32_t out[4]);

/// The value at a position depends on key and position alone, so any order and any worker count give the same numbers.
class Philox {
 public:
  /// The key is a stable 64-bit hash of (seed, API full name, argument position), see RandomKey.
  explicit Philox(std::uint64_t key) : key_(key) {}
  /// 128 random bits for `counter`.
  void Generate(std::uint64_t counter, std::uint32_t out[4]) const;

 private:
  std::uint64_t key_;
};

/// Key for one tensor argument; `position` as in the dump's suffix ("input.0", "kwargs.weight", "input.0.1"). FNV-1a
/// over seed, name and position, mixed by the finaliser of SplitMix64: the same on every machine and in every version.
std::uint64_t RandomKey(std::uint64_t seed, std::string_view api_name, std::string_view position);

/// What random data of a recorded tensor must look like (accuracy_checker.md 7.3, with the decisions of
/// precision_metrics.md and fault kinds B70 to B75). Values that the record lacks are absent.
struct RandomRange {
  // Floating and complex dtypes. An infinite end stands for the largest finite value of the dtype and is itself placed
  // at its end; equal infinite ends fill the tensor. Complex: ends of the absolute value.
  double low = 0;           ///< finite (or only available) minimum
  double high = 0;          ///< finite (or only available) maximum
  bool low_is_nan = false;  ///< the recorded true extreme is NaN: all elements are NaN, unless contains_nan
  bool high_is_nan = false;
  bool has_positive_infinity = false;  ///< the true maximum is +inf: the last element becomes +inf
  bool has_negative_infinity = false;  ///< the true minimum is -inf: the first element becomes -inf
  bool contains_nan = false;           ///< the true extreme is NaN while the finite one is not: one element becomes NaN
  bool nothing_finite = false;         ///< low and high are infinite because no element is finite: none is made
  // Integer dtypes and bool. Integers keep their digits beyond 2^53; for uint64 these hold the bits of the unsigned
  // value.
  std::int64_t integer_low = 0;
  std::int64_t integer_high = 0;
};

/// Fills `count` contiguous elements of `dtype` at `out`, uniform between the ends. Ends are pinned: first element low,
/// last high (one element: high), then NaN and infinities as in the specification. No element lies outside the ends, as
/// far as the dtype has a value between them; ends beyond the dtype are cut to it, ends in the wrong order swapped.
/// Complex: real and imaginary parts uniform, the absolute value between the ends up to rounding. Bool as closed
/// integers 0 and 1. Arithmetic is in double without library functions: the same bits on every machine.
void FillRandom(DType dtype, void* out, std::int64_t count, const RandomRange& range, std::uint64_t key);

}  // namespace msprobe
