#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor_view.h"

namespace msprobe {

/// Which group of columns besides the common ones (precision_metrics.md 4.6).
struct MetricRequest {
  bool benchmark = false;
  bool absolute_threshold = false;
  bool ulp = false;
  bool binary = false;
  // Limits of the absolute threshold algorithm (precision_standards.md 4.2) and the small-value limits of the benchmark
  // one. The relative tolerance also says how near the largest value of the dtype an overflow on one side is no
  // mismatch.
  double small_value = 0;
  double small_value_absolute_tolerance = 0;
  double relative_tolerance = 0;
};

/// Everything precision_metrics.md sections 2 to 4 define for one pair of equal shape, decisions of section 8 applied:
/// cosine, maximum absolute error and shares run over the positions where both are finite (bench cast to the device's
/// dtype). All arithmetic is in double, also where the reference computes in float32: results differ from it by
/// roundings. Indices are flat and row-major; for complex tensors they count real and imaginary parts.
struct ErrorMetrics {
  std::uint64_t count = 0;           ///< elements
  std::uint64_t finite_count = 0;    ///< positions where both are finite
  std::uint64_t mismatch_count = 0;  ///< non-finite positions where the two do not agree in kind and sign
  std::int64_t first_mismatch = -1;  ///< index of the first such position
  double first_mismatch_device = 0;
  double first_mismatch_bench = 0;
  enum class Cosine : std::uint8_t { kValue, kScalar, kBothZero, kDeviceZero, kBenchZero, kNothingFinite };
  Cosine cosine_case = Cosine::kValue;
  double cosine = 0;
  double max_absolute_error = 0;  ///< also for integers
  std::int64_t max_absolute_error_index = -1;
  double max_absolute_error_device = 0;  ///< the two values there
  double max_absolute_error_bench = 0;
  // Shares of the finite positions; 1 if there is none.
  double share_hundredth = 0;       ///< share with relative error < 0.01
  double share_thousandth = 0;      ///< < 0.001
  double share_ten_thousandth = 0;  ///< < 0.0001
  // Binary: filled when asked for or when the tensors are integers or bool. NaN differs from NaN (section 2).
  double binary_mismatch_rate = 0;
  // Benchmark. An absent value is the "no data" integer 0 of the specification.
  std::optional<double> small_value_error_share;
  std::optional<double> max_relative_error;
  std::optional<double> mean_relative_error;
  double root_mean_square_error = 0;
  double error_balance = 0;
  // Absolute threshold. Absent as above.
  std::optional<double> non_finite_error_rate;
  std::optional<double> relative_error_rate;
  std::optional<double> absolute_error_rate;
  // ULP, over all positions: NaN and infinity show in maximum and mean. Not for float64.
  double max_ulp_error = 0;
  double mean_ulp_error = 0;
  double ulp_over_threshold_share = 0;
};

/// `device` and `bench` have equal shapes (the caller has checked). Floating or complex pairs; complex counts as twice
/// as many real elements. Integer and bool pairs get `count`, the binary rate and the maximum absolute error alone.
/// Empty tensors: count 0, nothing else. Independent of instruction set and thread count.
ErrorMetrics ComputeErrorMetrics(const TensorView& device, const TensorView& bench, const MetricRequest& request);

/// Share of positions where integer or bool tensors of any two integer dtypes differ in value; `count` must not be 0.
double BinaryMismatchRate(const TensorView& device, const TensorView& bench);

/// Share of elements equal to zero (dropout, accuracy_checker.md 11.1); NaN counts as not zero; 0 for no elements.
double ZeroShare(const TensorView& view);

}  // namespace msprobe
