#include "numerics/error_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/error_metrics_kernel.h"
#include "numerics/integer_metrics.h"
#include "numerics/pair_reader.h"
#include "tensor/element_conversion.h"
#include "tensor/float_formats.h"

namespace msprobe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Real numbers compared at a time: three buffers of them stay in the first-level cache.
constexpr std::int64_t kChunk = kBlockElements;

// What a floating dtype is to the metrics.
struct FormatConstants {
  double epsilon;          ///< added to the bench (precision_metrics.md 3)
  double overflow_limit;   ///< magnitudes from here on do not round to a finite value
  double smallest_normal;  ///< ULP: 2 to the smallest exponent
  double significand;      ///< ULP: 2 to the number of mantissa bits; 0: no ULP for this dtype
  double ulp_threshold;
};

FormatConstants ConstantsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {0x1p-10, 65520.0, 0x1p-14, 0x1p10, 1.0};
    case DType::kBFloat16:
      return {0x1p-8, 0x1.FFp127, 0x1p-126, 0x1p7, 1.0};
    case DType::kFloat32:
      return {0x1p-23, 0x1.FFFFFFp127, 0x1p-126, 0x1p23, 32.0};
    // The fp8 formats are judged as float16 with the constants of their own precision (section 8, decision 3).
    case DType::kFloat8E4M3Fn:
      return {0x1p-3, std::nextafter(464.0, 500.0), 0x1p-6, 0x1p3, 1.0};
    case DType::kFloat8E4M3Fnuz:
      return {0x1p-3, 248.0, 0x1p-7, 0x1p3, 1.0};
    case DType::kFloat8E5M2:
      return {0x1p-2, 61440.0, 0x1p-14, 0x1p2, 1.0};
    case DType::kFloat8E5M2Fnuz:
      return {0x1p-2, 61440.0, 0x1p-15, 0x1p2, 1.0};
    case DType::kFloat8E8M0Fnu:
      return {1.0, 0x1.8p127, 0x1p-127, 1.0, 1.0};
    default:
      return {0x1p-52, kInfinity, 0, 0, 0};
  }
}

MetricConstants MakeConstants(DType device, DType bench, const MetricRequest& request) {
  const FormatConstants format = ConstantsOf(device);
  // The epsilon is that of the bench's storage, but for the dtypes that are widened before they are compared.
  const bool own_epsilon = device == DType::kBFloat16 || IsFloat8(device);
  MetricConstants constants;
  constants.epsilon = own_epsilon ? format.epsilon : ConstantsOf(bench).epsilon;
  constants.overflow_limit = format.overflow_limit;
  constants.small_value = request.small_value;
  constants.small_value_absolute_tolerance = request.small_value_absolute_tolerance;
  constants.relative_tolerance = request.relative_tolerance;
  constants.smallest_normal = format.smallest_normal;
  constants.significand = format.significand;
  constants.ulp_threshold = format.ulp_threshold;
  return constants;
}

// The bench as the device's dtype stores it while it is compared: bfloat16 is compared as float32 (section 1).
void CastToDeviceStorage(DType device, const double* bench, std::int64_t count, double* out) {
  if (device == DType::kFloat16) {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(bench[i]))));
    }
  } else if (IsFloat8(device)) {
    std::uint8_t codes[kChunk];
    ConvertFromDouble(bench, count, device, codes);
    ConvertToDouble(device, codes, count, out);
  } else if (device == DType::kFloat64) {
    std::copy_n(bench, count, out);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<double>(static_cast<float>(bench[i]));
    }
  }
}

double CastToDType(DType dtype, double value) {
  std::uint64_t code = 0;
  double out = 0;
  ConvertFromDouble(&value, 1, dtype, &code);
  ConvertToDouble(dtype, &code, 1, &out);
  return out;
}

// Section 8, decision 1: kind and sign must agree, the bench taken in the device's dtype. Where only one of two finite
// results overflowed (4.3), they agree if the largest finite value, in its place, is within the relative tolerance.
bool NonFiniteAgree(DType dtype, double relative_tolerance, double device, double bench) {
  const double cast = CastToDType(dtype, bench);
  if (cast == device || (std::isnan(cast) && std::isnan(device))) {
    return true;
  }
  if (std::isnan(device) || !std::isfinite(bench)) {
    return false;
  }
  const double clipped = std::isinf(device) ? std::copysign(LargestFinite(dtype), device) : device;
  return std::fabs(clipped - bench) <= relative_tolerance * std::fabs(bench);
}

class Comparison {
 public:
  Comparison(const TensorView& device, const TensorView& bench, const MetricRequest& request)
      : device_(device),
        bench_(bench),
        device_dtype_(ComponentDType(device.dtype)),
        bench_dtype_(ComponentDType(bench.dtype)),
        request_(request),
        constants_(MakeConstants(device_dtype_, bench_dtype_, request)) {}

  ErrorMetrics Run() {
    ForEachChunk([this](const MetricChunk& chunk, double* cast, std::int64_t first, std::int64_t count) {
      AddChunk(chunk, cast, first, count);
    });
    RemovePadding();
    if (metrics_.count > 0) {
      FinishCommon();
      FinishGroups();
    }
    return metrics_;
  }

 private:
  // Calls `visit(chunk, cast_buffer, first, count)`: `count` real numbers of both tensors, filled up with zeros.
  template <typename Visit>
  void ForEachChunk(Visit&& visit) {
    alignas(64) double device[kChunk];
    alignas(64) double bench[kChunk];
    alignas(64) double cast[kChunk];
    const int components = ComponentCount(device_.dtype);
    ForEachPair(
        device_, bench_, kChunk / components,
        [&](const void* device_data, const void* bench_data, std::int64_t first, std::int64_t elements) {
          const std::int64_t count = elements * components;
          ConvertToDouble(device_dtype_, device_data, count, device);
          ConvertToDouble(bench_dtype_, bench_data, count, bench);
          constexpr auto kLanes = static_cast<std::int64_t>(MetricSums::kLanes);
          const std::int64_t padded = (count + kLanes - 1) / kLanes * kLanes;
          std::fill(device + count, device + padded, 0.0);
          std::fill(bench + count, bench + padded, 0.0);
          visit(MetricChunk{device, bench, nullptr, static_cast<std::size_t>(padded)}, cast, first * components, count);
        });
  }

  void AddChunk(MetricChunk chunk, double* cast, std::int64_t first, std::int64_t count) {
    const std::uint64_t old_finite_count = sums_.finite_count;
    const double chunk_max = AddErrors(chunk, constants_, request_.benchmark || request_.absolute_threshold, &sums_);
    metrics_.count += static_cast<std::uint64_t>(count);
    padding_ += chunk.count - static_cast<std::size_t>(count);
    if (chunk_max > sums_.max_error) {
      FindMaximum(chunk, chunk_max, first, count);
    }
    if (sums_.finite_count - old_finite_count < chunk.count) {
      CheckNonFinite(chunk, first, count);
    }
    if (request_.benchmark) {
      CastToDeviceStorage(device_dtype_, chunk.bench, static_cast<std::int64_t>(chunk.count), cast);
      chunk.cast_bench = cast;
      AddBalance(chunk, &sums_);
    }
    if (HasUlp()) {
      AddUlpErrors(chunk, constants_, &sums_);
    }
    if (request_.binary) {
      AddDifferences(chunk, &sums_);
    }
  }

  bool HasUlp() const { return request_.ulp && constants_.significand > 0; }

  bool IsFinite(double device, double bench) const {
    return std::isfinite(device) && std::fabs(bench) < constants_.overflow_limit;
  }

  void FindMaximum(const MetricChunk& chunk, double chunk_max, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (IsFinite(chunk.device[i], chunk.bench[i]) && std::fabs(chunk.device[i] - chunk.bench[i]) == chunk_max) {
        sums_.max_error = chunk_max;
        metrics_.max_absolute_error = chunk_max;
        metrics_.max_absolute_error_index = first + i;
        metrics_.max_absolute_error_device = chunk.device[i];
        metrics_.max_absolute_error_bench = chunk.bench[i];
        return;
      }
    }
  }

  void CheckNonFinite(const MetricChunk& chunk, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double device = chunk.device[i];
      const double bench = chunk.bench[i];
      if (IsFinite(device, bench) || NonFiniteAgree(device_dtype_, request_.relative_tolerance, device, bench)) {
        continue;
      }
      if (metrics_.mismatch_count++ == 0) {
        metrics_.first_mismatch = first + i;
        metrics_.first_mismatch_device = device;
        metrics_.first_mismatch_bench = bench;
      }
    }
  }

  // The zeros that filled up the last chunk count as finite, small and exact.
  void RemovePadding() {
    sums_.finite_count -= padding_;
    sums_.below_hundredth -= padding_;
    sums_.below_thousandth -= padding_;
    sums_.below_ten_thousandth -= padding_;
    if (request_.benchmark || request_.absolute_threshold) {
      sums_.small_count -= padding_;
    }
  }

  double Share(std::uint64_t part, std::uint64_t whole) const {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  }

  static std::optional<double> Rate(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) {
      return std::nullopt;
    }
    return static_cast<double>(part) / static_cast<double>(whole);
  }

  void FinishCommon() {
    metrics_.finite_count = sums_.finite_count;
    metrics_.share_hundredth = Share(sums_.below_hundredth, sums_.finite_count);
    metrics_.share_thousandth = Share(sums_.below_thousandth, sums_.finite_count);
    metrics_.share_ten_thousandth = Share(sums_.below_ten_thousandth, sums_.finite_count);
    constexpr double kTiny = 0x1p-52;
    using Cosine = ErrorMetrics::Cosine;
    const bool device_zero = sums_.max_device <= kTiny;
    const bool bench_zero = sums_.max_bench <= kTiny;
    if (metrics_.finite_count == 0) {
      metrics_.cosine_case = Cosine::kNothingFinite;
    } else if (metrics_.count == 1) {
      metrics_.cosine_case = Cosine::kScalar;
    } else if (device_zero || bench_zero) {
      metrics_.cosine_case =
          device_zero && bench_zero ? Cosine::kBothZero : (device_zero ? Cosine::kDeviceZero : Cosine::kBenchZero);
    } else {
      metrics_.cosine = ComputeCosine();
    }
  }

  double ComputeCosine() {
    double dot = CombineLanes(sums_.dot);
    double device_square = CombineLanes(sums_.device_square);
    double bench_square = CombineLanes(sums_.bench_square);
    if (!std::isfinite(dot) || !std::isfinite(device_square) || !std::isfinite(bench_square)) {
      // float64 beyond the range of squares: once more, scaled by powers of two.
      const int device_exponent = -std::ilogb(sums_.max_device);
      const int bench_exponent = -std::ilogb(sums_.max_bench);
      MetricSums scaled;
      ForEachChunk([&](const MetricChunk& chunk, double*, std::int64_t, std::int64_t) {
        double device[kChunk];
        double bench[kChunk];
        for (std::size_t i = 0; i < chunk.count; ++i) {
          device[i] = std::ldexp(chunk.device[i], device_exponent);
          bench[i] = std::ldexp(chunk.bench[i], bench_exponent);
        }
        AddErrors({device, bench, nullptr, chunk.count}, constants_, false, &scaled);
      });
      dot = CombineLanes(scaled.dot);
      device_square = CombineLanes(scaled.device_square);
      bench_square = CombineLanes(scaled.bench_square);
    }
    return std::clamp(dot / (std::sqrt(device_square) * std::sqrt(bench_square)), -1.0, 1.0);
  }

  void FinishGroups() {
    const std::uint64_t count = metrics_.count;
    const auto n = static_cast<double>(count);
    const std::uint64_t normal_count = sums_.finite_count - sums_.small_count;
    if (request_.benchmark) {
      metrics_.small_value_error_share = Rate(sums_.small_over_tolerance, sums_.small_count);
      if (normal_count > 0) {
        metrics_.max_relative_error = sums_.max_relative;
        metrics_.mean_relative_error = CombineLanes(sums_.relative_sum) / static_cast<double>(normal_count);
      }
      // The factor turns the mean over all elements into (almost) that over the kept ones.
      const auto kept = static_cast<double>(normal_count);
      const double mean_square = CombineLanes(sums_.error_square) / n;
      metrics_.root_mean_square_error = std::sqrt(mean_square * (n / (kept + 0.0001) + 0.0001));
      const auto larger = static_cast<double>(sums_.larger_count);
      metrics_.error_balance = std::fabs(larger - static_cast<double>(sums_.smaller_count)) / n;
    }
    if (request_.absolute_threshold) {
      metrics_.non_finite_error_rate = Rate(metrics_.mismatch_count, count - sums_.finite_count);
      metrics_.relative_error_rate = Rate(sums_.normal_over_tolerance, normal_count);
      metrics_.absolute_error_rate = Rate(sums_.small_over_tolerance, sums_.small_count);
    }
    if (HasUlp()) {
      metrics_.max_ulp_error = sums_.ulp_nan_count > 0 ? kNan : sums_.max_ulp;
      metrics_.mean_ulp_error = CombineLanes(sums_.ulp_sum) / n;
      metrics_.ulp_over_threshold_share = Share(sums_.ulp_over_threshold, count);
    }
    if (request_.binary) {
      metrics_.binary_mismatch_rate = Share(sums_.different_count, count);
    }
  }

  const TensorView& device_;
  const TensorView& bench_;
  DType device_dtype_;
  DType bench_dtype_;
  const MetricRequest& request_;
  MetricConstants constants_;
  MetricSums sums_;
  std::uint64_t padding_ = 0;
  ErrorMetrics metrics_;
};

bool IsExact(DType dtype) { return dtype == DType::kBool || IsInteger(dtype); }

}  // namespace

ErrorMetrics ComputeErrorMetrics(const TensorView& device, const TensorView& bench, const MetricRequest& request) {
  if (IsExact(device.dtype) && IsExact(bench.dtype)) {
    const IntegerDifferences differences = CompareIntegers(device, bench);
    ErrorMetrics metrics;
    metrics.count = differences.count;
    metrics.finite_count = differences.count;
    if (differences.count > 0) {
      metrics.binary_mismatch_rate =
          static_cast<double>(differences.different_count) / static_cast<double>(differences.count);
    }
    metrics.max_absolute_error = differences.max_difference;
    metrics.max_absolute_error_index = differences.max_difference_index;
    metrics.max_absolute_error_device = differences.max_difference_device;
    metrics.max_absolute_error_bench = differences.max_difference_bench;
    return metrics;
  }
  return Comparison(device, bench, request).Run();
}

double BinaryMismatchRate(const TensorView& device, const TensorView& bench) {
  const IntegerDifferences differences = CompareIntegers(device, bench);
  return static_cast<double>(differences.different_count) / static_cast<double>(differences.count);
}

double ZeroShare(const TensorView& view) {
  std::uint64_t zeros = 0;
  std::uint64_t total = 0;
  const DType dtype = ComponentDType(view.dtype);
  const int components = ComponentCount(view.dtype);
  const auto item_size = static_cast<std::int64_t>(ItemSize(view.dtype));
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    double values[kChunk];
    const std::int64_t step = kChunk / components;
    for (std::int64_t start = 0; start < count; start += step) {
      const std::int64_t length = std::min(step, count - start);
      ConvertToDouble(dtype, static_cast<const std::byte*>(data) + start * item_size, length * components, values);
      for (std::int64_t i = 0; i < length; ++i) {
        const bool zero = components == 1 ? values[i] == 0 : values[2 * i] == 0 && values[2 * i + 1] == 0;
        zeros += zero ? 1 : 0;
      }
    }
    total += static_cast<std::uint64_t>(count);
  });
  return total == 0 ? 0.0 : static_cast<double>(zeros) / static_cast<double>(total);
}

}  // namespace msprobe
