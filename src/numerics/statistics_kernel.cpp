#include "numerics/statistics_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "numerics/simd_targets.h"
#include "tensor/float_formats.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/statistics_kernel.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace msprobe::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = StatisticsSums::kLanes;

template <typename T>
HWY_INLINE T LoadElement(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

// A loader reads elements of one dtype as vectors of `Wide`, in which maximum and minimum are taken. kExactSquares: the
// square of an element is exact in double, so a fused multiply-add rounds like a multiplication and an addition.
struct Float64Loader {
  using Element = double;
  using Wide = double;
  static constexpr bool kExactSquares = false;
  static constexpr bool kMayBeNonFinite = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::byte* data) {
    return hn::LoadU(d, reinterpret_cast<const double*>(data));
  }
  static HWY_INLINE double Widen(double value) { return value; }
};

struct Float32Loader {
  using Element = float;
  using Wide = float;
  static constexpr bool kExactSquares = true;
  static constexpr bool kMayBeNonFinite = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::byte* data) {
    return hn::LoadU(d, reinterpret_cast<const float*>(data));
  }
  static HWY_INLINE float Widen(float value) { return value; }
};

struct BFloat16Loader {
  using Element = std::uint16_t;
  using Wide = float;
  static constexpr bool kExactSquares = true;
  static constexpr bool kMayBeNonFinite = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::byte* data) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::RebindToUnsigned<D> d32;
    const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(data)));
    return hn::BitCast(d, hn::ShiftLeft<16>(bits));
  }
  static HWY_INLINE float Widen(std::uint16_t value) { return BFloat16ToFloat(value); }
};

struct Float16Loader {
  using Element = std::uint16_t;
  using Wide = float;
  static constexpr bool kExactSquares = true;
  static constexpr bool kMayBeNonFinite = true;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::byte* data) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    const hn::Rebind<hwy::float16_t, D> d16;
    return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(data)));
#else
    // Highway's own conversion takes infinity for a number on some targets. As HalfToFloat does it, on vectors.
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::RebindToUnsigned<D> d32;
    const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(data)));
    const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000U)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d32, 0x7FFFU)));
    const auto exponent = hn::And(bits, hn::Set(d32, 0x7C00U));
    const auto magic = hn::Set(d32, 113U << 23U);
    const auto subnormal = hn::BitCast(d32, hn::Sub(hn::BitCast(d, hn::Or(magic, magnitude)), hn::BitCast(d, magic)));
    const auto bias =
        hn::IfThenElse(hn::Eq(exponent, hn::Set(d32, 0x7C00U)), hn::Set(d32, 224U << 23U), hn::Set(d32, 112U << 23U));
    const auto normal = hn::Add(magnitude, bias);
    const auto result = hn::IfThenElse(hn::Eq(exponent, hn::Zero(d32)), subnormal, normal);
    return hn::BitCast(d, hn::Or(sign, result));
#endif
  }
  static HWY_INLINE float Widen(std::uint16_t value) { return HalfToFloat(value); }
};

// Integers of up to 32 bits are exact in double.
template <typename T>
struct IntegerLoader {
  using Element = T;
  using Wide = double;
  static constexpr bool kExactSquares = sizeof(T) < 4;
  static constexpr bool kMayBeNonFinite = false;
  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::byte* data) {
    const hn::Rebind<T, D> d_element;
    const hn::Rebind<std::int32_t, D> d32;
    const auto value = hn::LoadU(d_element, reinterpret_cast<const T*>(data));
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      const auto flipped = hn::BitCast(d32, hn::Xor(value, hn::Set(d_element, 0x80000000U)));
      return hn::Add(hn::PromoteTo(d, flipped), hn::Set(d, 2147483648.0));
    } else if constexpr (std::is_same_v<T, std::int32_t>) {
      return hn::PromoteTo(d, value);
    } else {
      return hn::PromoteTo(d, hn::PromoteTo(d32, value));
    }
  }
  static HWY_INLINE double Widen(T value) { return static_cast<double>(value); }
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE auto Promote(D dd, hn::Vec<hn::Rebind<float, D>> value) {
  return hn::PromoteTo(dd, value);
}
template <class D>
HWY_INLINE hn::Vec<D> Promote(D /*dd*/, hn::Vec<D> value) {
  return value;
}

// Second look at a block with NaN or infinities: counts them and takes the extremes of the rest.
template <class Loader>
HWY_NOINLINE void AddNonFinite(const std::byte* data, std::size_t count, StatisticsSums* sums) {
  using Wide = typename Loader::Wide;
  constexpr std::size_t kItemSize = sizeof(typename Loader::Element);
  const hn::ScalableTag<double> dd;
  const hn::Rebind<Wide, decltype(dd)> dw;
  const std::size_t lanes = hn::Lanes(dw);
  const auto positive = hn::Set(dw, std::numeric_limits<Wide>::infinity());
  const auto negative = hn::Set(dw, -std::numeric_limits<Wide>::infinity());
  auto max = negative;
  auto min = positive;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = Loader::Load(dw, data + i * kItemSize);
    const auto finite = hn::Lt(hn::Abs(value), positive);
    max = hn::Max(max, hn::IfThenElse(finite, value, negative));
    min = hn::Min(min, hn::IfThenElse(finite, value, positive));
    if (HWY_UNLIKELY(!hn::AllTrue(dw, finite))) {
      sums->nan_count += hn::CountTrue(dw, hn::IsNaN(value));
      sums->positive_infinity_count += hn::CountTrue(dw, hn::Eq(value, positive));
      sums->negative_infinity_count += hn::CountTrue(dw, hn::Eq(value, negative));
    }
  }
  sums->max = std::max(sums->max, static_cast<double>(hn::GetLane(hn::MaxOfLanes(dw, max))));
  sums->min = std::min(sums->min, static_cast<double>(hn::GetLane(hn::MinOfLanes(dw, min))));
  for (; i < count; ++i) {
    const double value =
        static_cast<double>(Loader::Widen(LoadElement<typename Loader::Element>(data + i * kItemSize)));
    if (std::isfinite(value)) {
      sums->max = std::max(sums->max, value);
      sums->min = std::min(sums->min, value);
    } else if (std::isnan(value)) {
      ++sums->nan_count;
    } else {
      ++(value > 0 ? sums->positive_infinity_count : sums->negative_infinity_count);
    }
  }
}

template <class Loader>
HWY_INLINE void AddBlock(const std::byte* data, std::size_t count, StatisticsSums* sums) {
  using Wide = typename Loader::Wide;
  constexpr std::size_t kItemSize = sizeof(typename Loader::Element);
  const hn::ScalableTag<double> dd;
  const hn::Rebind<Wide, decltype(dd)> dw;
  constexpr std::size_t kWidth = hn::MaxLanes(dd);
  constexpr std::size_t kVectors = kLanes / kWidth;
  using VD = hn::Vec<decltype(dd)>;

  double block_max = -std::numeric_limits<double>::infinity();
  double block_min = std::numeric_limits<double>::infinity();
  bool all_finite = true;
  std::size_t i = 0;
  if (count >= kLanes) {
    VD sum[kVectors];
    VD square_sum[kVectors];
    for (std::size_t k = 0; k < kVectors; ++k) {
      sum[k] = hn::Load(dd, sums->sum + k * kWidth);
      square_sum[k] = hn::Load(dd, sums->square_sum + k * kWidth);
    }
    auto max = hn::Set(dw, -std::numeric_limits<Wide>::infinity());
    auto min = hn::Set(dw, std::numeric_limits<Wide>::infinity());
    for (; i + kLanes <= count; i += kLanes) {
      const std::byte* group = data + i * kItemSize;
      auto group_max = Loader::Load(dw, group);
      auto group_min = group_max;
      for (std::size_t k = 0; k < kVectors; ++k) {
        const auto value = Loader::Load(dw, group + k * kWidth * kItemSize);
        if (k > 0) {
          group_max = hn::Max(group_max, value);
          group_min = hn::Min(group_min, value);
        }
        const VD wide = Promote(dd, value);
        sum[k] = hn::Add(sum[k], wide);
        if constexpr (Loader::kExactSquares) {
          square_sum[k] = hn::MulAdd(wide, wide, square_sum[k]);
        } else {
          square_sum[k] = hn::Add(square_sum[k], hn::Mul(wide, wide));
        }
      }
      max = hn::Max(max, group_max);
      min = hn::Min(min, group_min);
    }
    // Any NaN or infinity has made its lane's sum non-finite, and zero times that is NaN.
    auto check = hn::Mul(sum[0], hn::Zero(dd));
    for (std::size_t k = 0; k < kVectors; ++k) {
      hn::Store(sum[k], dd, sums->sum + k * kWidth);
      hn::Store(square_sum[k], dd, sums->square_sum + k * kWidth);
      check = hn::Add(check, hn::Mul(sum[k], hn::Zero(dd)));
    }
    all_finite = hn::AllTrue(dd, hn::Eq(check, hn::Zero(dd)));
    block_max = static_cast<double>(hn::GetLane(hn::MaxOfLanes(dw, max)));
    block_min = static_cast<double>(hn::GetLane(hn::MinOfLanes(dw, min)));
  }
  for (std::size_t lane = 0; i < count; ++i, ++lane) {
    const double value =
        static_cast<double>(Loader::Widen(LoadElement<typename Loader::Element>(data + i * kItemSize)));
    sums->sum[lane] += value;
    const double square = value * value;
    sums->square_sum[lane] += square;
    block_max = value > block_max ? value : block_max;
    block_min = value < block_min ? value : block_min;
    all_finite = all_finite && std::isfinite(value);
  }
  if (Loader::kMayBeNonFinite && HWY_UNLIKELY(!all_finite)) {
    AddNonFinite<Loader>(data, count, sums);
    return;
  }
  sums->max = std::max(sums->max, block_max);
  sums->min = std::min(sums->min, block_min);
}

void AddToStatisticsKernel(DType dtype, const void* data, std::size_t count, StatisticsSums* sums) {
  const auto* bytes = static_cast<const std::byte*>(data);
  switch (dtype) {
    case DType::kFloat64:
      return AddBlock<Float64Loader>(bytes, count, sums);
    case DType::kFloat32:
      return AddBlock<Float32Loader>(bytes, count, sums);
    case DType::kBFloat16:
      return AddBlock<BFloat16Loader>(bytes, count, sums);
    case DType::kFloat16:
      return AddBlock<Float16Loader>(bytes, count, sums);
    case DType::kUint8:
      return AddBlock<IntegerLoader<std::uint8_t>>(bytes, count, sums);
    case DType::kInt8:
      return AddBlock<IntegerLoader<std::int8_t>>(bytes, count, sums);
    case DType::kUint16:
      return AddBlock<IntegerLoader<std::uint16_t>>(bytes, count, sums);
    case DType::kInt16:
      return AddBlock<IntegerLoader<std::int16_t>>(bytes, count, sums);
    case DType::kUint32:
      return AddBlock<IntegerLoader<std::uint32_t>>(bytes, count, sums);
    case DType::kInt32:
      return AddBlock<IntegerLoader<std::int32_t>>(bytes, count, sums);
    default:
      return;
  }
}

}  // namespace
}  // namespace msprobe::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace msprobe {

HWY_EXPORT(AddToStatisticsKernel);

void AddToStatistics(DType dtype, const void* data, std::size_t count, StatisticsSums* sums) {
  HWY_DYNAMIC_DISPATCH(AddToStatisticsKernel)(dtype, data, count, sums);
}

double CombineLanes(const double (&lanes)[StatisticsSums::kLanes]) {
  double partial[StatisticsSums::kLanes / 2];
  for (std::size_t i = 0; i < 8; ++i) {
    partial[i] = lanes[i] + lanes[i + 8];
  }
  for (std::size_t width = 4; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) {
      partial[i] += partial[i + width];
    }
  }
  return partial[0];
}

}  // namespace msprobe
#endif  // HWY_ONCE
