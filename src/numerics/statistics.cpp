#include "numerics/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "numerics/extremes.h"
#include "numerics/statistics_kernel.h"
#include "tensor/element_conversion.h"
#include "tensor/float_formats.h"

namespace msprobe {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements converted at a time, a multiple of the kernel's lanes.
constexpr std::int64_t kConvertedElements = 1024;
// Bytes handed to the kernel at a time: a second look at a block with NaN or infinities then finds it in the cache.
constexpr std::int64_t kKernelBytes = 32768;

void AddInChunks(DType dtype, const void* data, std::int64_t count, StatisticsSums* sums) {
  const auto item_size = static_cast<std::int64_t>(ItemSize(dtype));
  const std::int64_t chunk = kKernelBytes / item_size;
  const auto* bytes = static_cast<const std::byte*>(data);
  for (std::int64_t start = 0; start < count; start += chunk) {
    AddToStatistics(dtype, bytes + start * item_size, static_cast<std::size_t>(std::min(chunk, count - start)), sums);
  }
}

double AbsoluteValue(double real, double imaginary, bool is_double) {
  if (std::isinf(real) || std::isinf(imaginary)) {
    return kInfinity;
  }
  double scale = 1.0;
  double unscale = 1.0;
  if (is_double) {  // squares of narrower components neither overflow nor vanish in double
    const double largest = std::max(std::fabs(real), std::fabs(imaginary));
    if (largest > 0x1p500) {
      scale = 0x1p-600;
      unscale = 0x1p600;
    } else if (largest < 0x1p-500) {
      scale = 0x1p600;
      unscale = 0x1p-600;
    }
  }
  const double x = real * scale;
  const double y = imaginary * scale;
  return std::sqrt(x * x + y * y) * unscale;
}

// Absolute values of complex elements, as double.
void AbsoluteValues(DType dtype, const std::byte* data, std::int64_t count, double* out) {
  double components[2 * kConvertedElements];
  ConvertToDouble(ComponentDType(dtype), data, 2 * count, components);
  const bool is_double = dtype == DType::kComplex128;
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = AbsoluteValue(components[2 * i], components[2 * i + 1], is_double);
  }
}

// Calls `visit(values, count)` with the elements (absolute values for complex) as double, in order.
template <typename Visit>
void ForEachDoubleBlock(const TensorView& view, Visit&& visit) {
  const auto item_size = static_cast<std::int64_t>(ItemSize(view.dtype));
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    const auto* bytes = static_cast<const std::byte*>(data);
    double values[kConvertedElements];
    for (std::int64_t start = 0; start < count; start += kConvertedElements) {
      const std::int64_t length = std::min(kConvertedElements, count - start);
      if (IsComplex(view.dtype)) {
        AbsoluteValues(view.dtype, bytes + start * item_size, length, values);
      } else {
        ConvertToDouble(view.dtype, bytes + start * item_size, length, values);
      }
      visit(values, length);
    }
  });
}

bool HasKernel(DType dtype) {
  return dtype != DType::kUint64 && dtype != DType::kInt64 && !IsFloat8(dtype) && !IsComplex(dtype);
}

void AddTensor(const TensorView& view, StatisticsSums* sums) {
  if (HasKernel(view.dtype)) {
    ForEachBlock(view, [&](const void* data, std::int64_t count) { AddInChunks(view.dtype, data, count, sums); });
    return;
  }
  ForEachDoubleBlock(view, [&](const double* values, std::int64_t count) {
    AddToStatistics(DType::kFloat64, values, static_cast<std::size_t>(count), sums);
  });
}

struct MeanAndNorm {
  double mean;
  double norm;
};

// For elements all finite whose sum or squares left the range of double: once more, scaled by a power of two.
MeanAndNorm ScaledMeanAndNorm(const TensorView& view, double largest, std::int64_t element_count) {
  const int exponent = std::ilogb(largest);
  StatisticsSums sums;
  ForEachDoubleBlock(view, [&](const double* values, std::int64_t count) {
    double scaled[kConvertedElements];
    for (std::int64_t i = 0; i < count; ++i) {
      scaled[i] = std::ldexp(values[i], -exponent);
    }
    AddToStatistics(DType::kFloat64, scaled, static_cast<std::size_t>(count), &sums);
  });
  return {std::ldexp(CombineLanes(sums.sum) / static_cast<double>(element_count), exponent),
          std::ldexp(std::sqrt(CombineLanes(sums.square_sum)), exponent)};
}

MeanAndNorm ComputeMeanAndNorm(const TensorView& view, const StatisticsSums& sums, std::int64_t element_count) {
  const bool positive = sums.positive_infinity_count > 0;
  const bool negative = sums.negative_infinity_count > 0;
  if (sums.nan_count > 0) {
    return {kNan, kNan};
  }
  if (positive || negative) {
    return {positive && negative ? kNan : (positive ? kInfinity : -kInfinity), kInfinity};
  }
  const double sum = CombineLanes(sums.sum);
  const double square_sum = CombineLanes(sums.square_sum);
  const double largest = std::max(std::fabs(sums.max), std::fabs(sums.min));
  const double mean = sum / static_cast<double>(element_count);
  if (!std::isfinite(sum) || !std::isfinite(square_sum)) {
    return ScaledMeanAndNorm(view, largest, element_count);
  }
  if (square_sum < 0x1p-900 && largest > 0) {
    return {mean, ScaledMeanAndNorm(view, largest, element_count).norm};
  }
  return {mean, std::sqrt(square_sum)};
}

// The absolute value of a complex number belongs to the dtype of its parts; it is rounded to it unless that overflows.
double RoundAbsoluteValue(DType dtype, double value) {
  double rounded = value;
  if (dtype == DType::kComplex64) {
    rounded = static_cast<double>(static_cast<float>(value));
  } else if (dtype == DType::kComplex32) {
    rounded = static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(value))));
  }
  return std::isfinite(rounded) ? rounded : value;
}

Statistics BoolStatistics(const TensorView& view, Statistics statistics) {
  bool any = false;
  bool all = true;
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    const auto size = static_cast<std::size_t>(count);
    // All bytes are zero if the first is and each equals its neighbour.
    any = any || bytes[0] != 0 || std::memcmp(bytes, bytes + 1, size - 1) != 0;
    all = all && std::memchr(bytes, 0, size) == nullptr;
  });
  statistics.max = any;
  statistics.min = all;
  return statistics;
}

template <typename T>
Statistics Integer64Statistics(const TensorView& view, Statistics statistics) {
  T max = std::numeric_limits<T>::min();
  T min = std::numeric_limits<T>::max();
  StatisticsSums sums;
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    const auto* elements = static_cast<const T*>(data);
    double values[kConvertedElements];
    for (std::int64_t start = 0; start < count; start += kConvertedElements) {
      const std::int64_t length = std::min(kConvertedElements, count - start);
      for (std::int64_t i = 0; i < length; ++i) {
        const T element = elements[start + i];
        max = std::max(max, element);
        min = std::min(min, element);
        values[i] = static_cast<double>(element);
      }
      AddToStatistics(DType::kFloat64, values, static_cast<std::size_t>(length), &sums);
    }
  });
  statistics.max = max;
  statistics.min = min;
  statistics.mean = CombineLanes(sums.sum) / static_cast<double>(statistics.element_count);
  statistics.norm = std::sqrt(CombineLanes(sums.square_sum));
  return statistics;
}

Statistics IntegerStatistics(const TensorView& view, Statistics statistics) {
  if (view.dtype == DType::kInt64) {
    return Integer64Statistics<std::int64_t>(view, statistics);
  }
  if (view.dtype == DType::kUint64) {
    return Integer64Statistics<std::uint64_t>(view, statistics);
  }
  StatisticsSums sums;
  AddTensor(view, &sums);
  statistics.max = static_cast<std::int64_t>(sums.max);
  statistics.min = static_cast<std::int64_t>(sums.min);
  statistics.mean = CombineLanes(sums.sum) / static_cast<double>(statistics.element_count);
  statistics.norm = std::sqrt(CombineLanes(sums.square_sum));
  return statistics;
}

Statistics FloatingStatistics(const TensorView& view, Statistics statistics) {
  StatisticsSums sums;
  AddTensor(view, &sums);
  statistics.nan_count = sums.nan_count;
  statistics.positive_infinity_count = sums.positive_infinity_count;
  statistics.negative_infinity_count = sums.negative_infinity_count;
  double finite_max = sums.max;
  double finite_min = sums.min;
  const bool has_finite = sums.max >= sums.min;
  if (has_finite && IsComplex(view.dtype)) {
    finite_max = RoundAbsoluteValue(view.dtype, finite_max);
    finite_min = RoundAbsoluteValue(view.dtype, finite_min);
  }
  SetExtremes(
      {finite_max, finite_min, sums.nan_count > 0, sums.positive_infinity_count > 0, sums.negative_infinity_count > 0},
      statistics);
  const MeanAndNorm mean_and_norm = ComputeMeanAndNorm(view, sums, static_cast<std::int64_t>(statistics.element_count));
  statistics.mean = mean_and_norm.mean;
  statistics.norm = mean_and_norm.norm;
  return statistics;
}

/// The kernels see no difference between the zeros.
bool IsNegativeZero(const TensorView& view, const StatisticValue& value) {
  const double* number = std::get_if<double>(&value);
  if (number == nullptr || *number != 0.0 || IsComplex(view.dtype)) {
    return false;
  }
  const auto* bytes = static_cast<const unsigned char*>(view.data);
  return (bytes[ItemSize(view.dtype) - 1] & 0x80U) != 0;  // the sign is the highest bit
}

}  // namespace

Statistics WithZeros(Statistics statistics, const TensorView& view, std::uint64_t zeros) {
  if (zeros == 0) {
    return statistics;
  }
  const auto stored = static_cast<double>(statistics.element_count);
  if (statistics.element_count == 0) {
    const std::byte zero[16] = {};
    statistics = ComputeStatistics(TensorView{zero, view.dtype, {}, {}});
    statistics.element_count = zeros;
    return statistics;
  }
  statistics.element_count += zeros;
  if (view.dtype == DType::kBool) {
    statistics.min = false;
    return statistics;
  }
  const auto widen = [](StatisticValue& value, bool is_max) {
    std::visit(
        [&](auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_arithmetic_v<T>) {
            if (is_max ? held < T{0} : held > T{0}) {
              held = T{0};
            }
          }
        },
        value);
  };
  widen(statistics.max, true);
  widen(statistics.min, false);
  if (double* mean = std::get_if<double>(&statistics.mean)) {
    *mean *= stored / static_cast<double>(statistics.element_count);
  }
  statistics.finite_max = std::max(statistics.finite_max, 0.0);
  statistics.finite_min = std::min(statistics.finite_min, 0.0);
  return statistics;
}

Statistics ComputeStatistics(const TensorView& view) {
  Statistics statistics;
  statistics.element_count = static_cast<std::uint64_t>(ElementCount(view));
  if (statistics.element_count == 0) {
    return statistics;
  }
  if (view.dtype == DType::kBool) {
    return BoolStatistics(view, statistics);
  }
  statistics = IsInteger(view.dtype) ? IntegerStatistics(view, statistics) : FloatingStatistics(view, statistics);
  if (view.shape.empty()) {  // 0-dimensional: the value itself
    if (IsNegativeZero(view, statistics.max)) {
      statistics.max = statistics.min = -0.0;
    }
    statistics.mean = statistics.max;
    statistics.norm = statistics.max;
  }
  return statistics;
}

}  // namespace msprobe
