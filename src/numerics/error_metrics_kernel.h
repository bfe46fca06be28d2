#pragma once

#include <cstddef>
#include <cstdint>

namespace msprobe {

/// Constants of one comparison (precision_metrics.md 3).
struct MetricConstants {
  double epsilon = 0;         ///< added to the absolute value of the bench
  double overflow_limit = 0;  ///< from this magnitude on a bench value is not finite in the device's dtype
  // Small values and limits of the benchmark and the absolute threshold algorithm.
  double small_value = 0;
  double small_value_absolute_tolerance = 0;
  double relative_tolerance = 0;
  // ULP (precision_metrics.md 4.4).
  double smallest_normal = 0;  ///< 2 to the smallest exponent
  double significand = 0;      ///< 2 to the number of mantissa bits
  double ulp_threshold = 0;
};

/// Sums over all chunks. As in the statistics, element i adds to lane i modulo kLanes on every instruction set.
struct MetricSums {
  static constexpr std::size_t kLanes = 8;

  // Over positions where both are finite.
  alignas(64) double dot[kLanes] = {};
  alignas(64) double device_square[kLanes] = {};
  alignas(64) double bench_square[kLanes] = {};
  double max_error = -1;
  double max_device = 0;
  double max_bench = 0;
  std::uint64_t finite_count = 0;
  std::uint64_t below_hundredth = 0;
  std::uint64_t below_thousandth = 0;
  std::uint64_t below_ten_thousandth = 0;
  // Among those: small and normal values of the bench.
  alignas(64) double relative_sum[kLanes] = {};  ///< relative errors of normal values
  alignas(64) double error_square[kLanes] = {};  ///< squared errors of normal values
  double max_relative = -1;
  std::uint64_t small_count = 0;
  std::uint64_t small_over_tolerance = 0;
  std::uint64_t normal_over_tolerance = 0;
  // Over all positions.
  alignas(64) double ulp_sum[kLanes] = {};
  double max_ulp = 0;
  std::uint64_t ulp_nan_count = 0;
  std::uint64_t ulp_over_threshold = 0;
  std::uint64_t different_count = 0;
  std::uint64_t larger_count = 0;   ///< device above the bench cast to its dtype
  std::uint64_t smaller_count = 0;  ///< device below it
};

/// A piece of both tensors as double; the count is a multiple of kLanes (the last chunk is filled up with zeros).
struct MetricChunk {
  const double* device = nullptr;
  const double* bench = nullptr;
  const double* cast_bench = nullptr;  ///< bench rounded to the device's dtype; only for the error balance
  std::size_t count = 0;
};

/// What precision_metrics.md 4.1 needs, and with `with_limits` 4.2 and 4.3. Returns the largest absolute error of the
/// chunk, -1 if no position is finite on both sides.
double AddErrors(const MetricChunk& chunk, const MetricConstants& constants, bool with_limits, MetricSums* sums);

/// ULP errors (4.4).
void AddUlpErrors(const MetricChunk& chunk, const MetricConstants& constants, MetricSums* sums);

/// Positions that differ (2); NaN differs from NaN.
void AddDifferences(const MetricChunk& chunk, MetricSums* sums);

/// Positions above and below the cast bench (4.2).
void AddBalance(const MetricChunk& chunk, MetricSums* sums);

/// Sum of all lanes, in a fixed order.
double CombineLanes(const double (&lanes)[MetricSums::kLanes]);

}  // namespace msprobe
