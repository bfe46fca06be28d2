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
  // Limits of the absolute threshold algorithm (precision_standards.md 4.2) and the small-value limits of the benchmark one.
  double small_value = 0;
  double small_value_absolute_tolerance = 0;
  double relative_tolerance = 0;
};

/// Everything precision_metrics.md sections 2 to 4 define for one pair of equal shape, decisions of section 8 applied:
/// cosine, maximum absolute error and shares run over the positions where both are finite (bench cast to the device's dtype).
struct ErrorMetrics {
  std::uint64_t count = 0;             ///< elements
  std::uint64_t finite_count = 0;      ///< positions where both are finite
  std::uint64_t mismatch_count = 0;    ///< non-finite positions where the two do not agree in kind and sign
  std::int64_t first_mismatch = -1;    ///< flat row-major index of the first such position
  enum class Cosine : std::uint8_t { kValue, kScalar, kBothZero, kDeviceZero, kBenchZero, kNothingFinite };
  Cosine cosine_case = Cosine::kValue;
  double cosine = 0;
  double max_absolute_error = 0;
  std::int64_t max_absolute_error_index = -1;
  double share_hundredth = 0;       ///< share with relative error < 0.01
  double share_thousandth = 0;      ///< < 0.001
  double share_ten_thousandth = 0;  ///< < 0.0001
  // Binary: filled when asked for or when the tensors are integers or bool.
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
  // ULP.
  double max_ulp_error = 0;
  double mean_ulp_error = 0;
  double ulp_over_threshold_share = 0;
};

/// `device` and `bench` have equal shapes (the caller has checked). Floating or complex pairs; complex counts as twice as
/// many real elements. Independent of instruction set and thread count.
ErrorMetrics ComputeErrorMetrics(const TensorView& device, const TensorView& bench, const MetricRequest& request);

/// Share of positions where integer or bool tensors of any two integer dtypes differ; `count` must not be 0.
double BinaryMismatchRate(const TensorView& device, const TensorView& bench);

/// Share of elements equal to zero (dropout, accuracy_checker.md 11.1); NaN counts as not zero.
double ZeroShare(const TensorView& view);

}  // namespace msprobe
