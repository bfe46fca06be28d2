#include "numerics/error_metrics_kernel.h"

#include <algorithm>
#include <limits>

#include "numerics/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/error_metrics_kernel.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
using Vector = hn::Vec<Tag>;

constexpr std::size_t kLanes = MetricSums::kLanes;
constexpr std::size_t kWidth = hn::MaxLanes(Tag());
constexpr std::size_t kVectors = kLanes / kWidth;

// The lanes of one sum in registers.
class LaneSums {
 public:
  HWY_INLINE explicit LaneSums(double* lanes) : lanes_(lanes) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      sums_[k] = hn::Load(Tag(), lanes_ + k * kWidth);
    }
  }
  // Multiplication and addition stay two roundings: a fused one rounds otherwise, and not every target has it.
  HWY_INLINE void Add(std::size_t k, Vector value) { sums_[k] = hn::Add(sums_[k], value); }
  HWY_INLINE void Store() const {
    for (std::size_t k = 0; k < kVectors; ++k) {
      hn::Store(sums_[k], Tag(), lanes_ + k * kWidth);
    }
  }

 private:
  double* lanes_;
  Vector sums_[kVectors];
};

HWY_INLINE double MaxLane(Vector value) { return hn::GetLane(hn::MaxOfLanes(Tag(), value)); }

template <bool kWithLimits>
HWY_INLINE double AddErrorsOf(const MetricChunk& chunk, const MetricConstants& constants, MetricSums* sums) {
  const Tag d;
  const Vector infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const Vector limit = hn::Set(d, constants.overflow_limit);
  const Vector epsilon = hn::Set(d, constants.epsilon);
  const Vector hundredth = hn::Set(d, 0.01);
  const Vector thousandth = hn::Set(d, 0.001);
  const Vector ten_thousandth = hn::Set(d, 0.0001);
  const Vector none = hn::Set(d, -1.0);
  const Vector small_value = hn::Set(d, constants.small_value);
  const Vector absolute_tolerance = hn::Set(d, constants.small_value_absolute_tolerance);
  const Vector relative_tolerance = hn::Set(d, constants.relative_tolerance);

  LaneSums dot(sums->dot);
  LaneSums device_square(sums->device_square);
  LaneSums bench_square(sums->bench_square);
  LaneSums relative_sum(sums->relative_sum);
  LaneSums error_square(sums->error_square);
  Vector max_error = none;
  Vector max_device = hn::Zero(d);
  Vector max_bench = hn::Zero(d);
  Vector max_relative = none;

  for (std::size_t i = 0; i < chunk.count; i += kLanes) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      const Vector raw_device = hn::LoadU(d, chunk.device + i + k * kWidth);
      const Vector raw_bench = hn::LoadU(d, chunk.bench + i + k * kWidth);
      const auto finite = hn::And(hn::Lt(hn::Abs(raw_device), infinity), hn::Lt(hn::Abs(raw_bench), limit));
      const Vector device = hn::IfThenElseZero(finite, raw_device);
      const Vector bench = hn::IfThenElseZero(finite, raw_bench);
      const Vector bench_magnitude = hn::Abs(bench);
      const Vector error = hn::Abs(hn::Sub(device, bench));
      const Vector relative = hn::Div(error, hn::Add(bench_magnitude, epsilon));

      dot.Add(k, hn::Mul(device, bench));
      device_square.Add(k, hn::Mul(device, device));
      bench_square.Add(k, hn::Mul(bench, bench));
      max_error = hn::Max(max_error, hn::IfThenElse(finite, error, none));
      max_device = hn::Max(max_device, hn::Abs(device));
      max_bench = hn::Max(max_bench, bench_magnitude);
      sums->finite_count += hn::CountTrue(d, finite);
      sums->below_hundredth += hn::CountTrue(d, hn::And(finite, hn::Lt(relative, hundredth)));
      sums->below_thousandth += hn::CountTrue(d, hn::And(finite, hn::Lt(relative, thousandth)));
      sums->below_ten_thousandth += hn::CountTrue(d, hn::And(finite, hn::Lt(relative, ten_thousandth)));
      if constexpr (kWithLimits) {
        const auto is_small = hn::Le(bench_magnitude, small_value);
        const auto small = hn::And(finite, is_small);
        const auto normal = hn::AndNot(is_small, finite);
        const Vector normal_error = hn::IfThenElseZero(normal, error);
        relative_sum.Add(k, hn::IfThenElseZero(normal, relative));
        error_square.Add(k, hn::Mul(normal_error, normal_error));
        max_relative = hn::Max(max_relative, hn::IfThenElse(normal, relative, none));
        sums->small_count += hn::CountTrue(d, small);
        sums->small_over_tolerance += hn::CountTrue(d, hn::And(small, hn::Gt(error, absolute_tolerance)));
        sums->normal_over_tolerance += hn::CountTrue(d, hn::And(normal, hn::Gt(relative, relative_tolerance)));
      }
    }
  }
  dot.Store();
  device_square.Store();
  bench_square.Store();
  relative_sum.Store();
  error_square.Store();
  sums->max_device = std::max(sums->max_device, MaxLane(max_device));
  sums->max_bench = std::max(sums->max_bench, MaxLane(max_bench));
  sums->max_relative = std::max(sums->max_relative, MaxLane(max_relative));
  return MaxLane(max_error);
}

double AddErrorsKernel(const MetricChunk& chunk, const MetricConstants& constants, bool with_limits, MetricSums* sums) {
  return with_limits ? AddErrorsOf<true>(chunk, constants, sums) : AddErrorsOf<false>(chunk, constants, sums);
}

void AddUlpErrorsKernel(const MetricChunk& chunk, const MetricConstants& constants, MetricSums* sums) {
  const Tag d;
  const hn::RebindToUnsigned<Tag> du;
  const auto exponent_bits = hn::Set(du, 0x7FF0000000000000U);
  const Vector smallest_normal = hn::Set(d, constants.smallest_normal);
  const Vector significand = hn::Set(d, constants.significand);
  const Vector threshold = hn::Set(d, constants.ulp_threshold);
  LaneSums ulp_sum(sums->ulp_sum);
  Vector max_ulp = hn::Zero(d);
  for (std::size_t i = 0; i < chunk.count; i += kLanes) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      const Vector device = hn::LoadU(d, chunk.device + i + k * kWidth);
      const Vector bench = hn::LoadU(d, chunk.bench + i + k * kWidth);
      // 2 to the exponent of the bench; infinite for infinity and NaN.
      const Vector power = hn::BitCast(d, hn::And(hn::BitCast(du, bench), exponent_bits));
      const Vector limited = hn::IfThenElse(hn::Lt(power, smallest_normal), smallest_normal, power);
      const Vector unit = hn::IfThenElse(hn::Eq(bench, hn::Zero(d)), hn::Set(d, 1.0), limited);
      const Vector ulp = hn::Div(hn::Mul(hn::Abs(hn::Sub(device, bench)), significand), unit);
      const auto is_nan = hn::IsNaN(ulp);
      ulp_sum.Add(k, ulp);
      max_ulp = hn::Max(max_ulp, hn::IfThenZeroElse(is_nan, ulp));
      sums->ulp_nan_count += hn::CountTrue(d, is_nan);
      sums->ulp_over_threshold += hn::CountTrue(d, hn::Gt(ulp, threshold));
    }
  }
  ulp_sum.Store();
  sums->max_ulp = std::max(sums->max_ulp, MaxLane(max_ulp));
}

void AddDifferencesKernel(const MetricChunk& chunk, MetricSums* sums) {
  const Tag d;
  std::uint64_t equal_count = 0;
  for (std::size_t i = 0; i < chunk.count; i += kWidth) {
    equal_count += hn::CountTrue(d, hn::Eq(hn::LoadU(d, chunk.device + i), hn::LoadU(d, chunk.bench + i)));
  }
  sums->different_count += chunk.count - equal_count;
}

void AddBalanceKernel(const MetricChunk& chunk, MetricSums* sums) {
  const Tag d;
  for (std::size_t i = 0; i < chunk.count; i += kWidth) {
    const Vector device = hn::LoadU(d, chunk.device + i);
    const Vector bench = hn::LoadU(d, chunk.cast_bench + i);
    sums->larger_count += hn::CountTrue(d, hn::Gt(device, bench));
    sums->smaller_count += hn::CountTrue(d, hn::Lt(device, bench));
  }
}

}  // namespace
}  // namespace msprobe::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace msprobe {

HWY_EXPORT(AddErrorsKernel);
HWY_EXPORT(AddUlpErrorsKernel);
HWY_EXPORT(AddDifferencesKernel);
HWY_EXPORT(AddBalanceKernel);

double AddErrors(const MetricChunk& chunk, const MetricConstants& constants, bool with_limits, MetricSums* sums) {
  return HWY_DYNAMIC_DISPATCH(AddErrorsKernel)(chunk, constants, with_limits, sums);
}

void AddUlpErrors(const MetricChunk& chunk, const MetricConstants& constants, MetricSums* sums) {
  HWY_DYNAMIC_DISPATCH(AddUlpErrorsKernel)(chunk, constants, sums);
}

void AddDifferences(const MetricChunk& chunk, MetricSums* sums) {
  HWY_DYNAMIC_DISPATCH(AddDifferencesKernel)(chunk, sums);
}

void AddBalance(const MetricChunk& chunk, MetricSums* sums) { HWY_DYNAMIC_DISPATCH(AddBalanceKernel)(chunk, sums); }

double CombineLanes(const double (&lanes)[MetricSums::kLanes]) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace msprobe
#endif  // HWY_ONCE
