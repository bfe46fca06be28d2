#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace msprobe {

// Conversions between float and the narrow floating formats, on bits. To a narrow format they round to nearest, ties to
// even, and treat overflow and NaN as torch does. They do not depend on the flush-to-zero mode of the thread.

/// float16 (IEEE binary16), exact.
constexpr float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16U;
  const std::uint32_t magnitude = (half & 0x7FFFU) << 13U;
  const std::uint32_t exponent = half & 0x7C00U;
  if (exponent == 0) {  // zero and subnormal: a normal float minus the implicit one, so no float denormal is touched
    constexpr std::uint32_t kMagic = 113U << 23U;
    const float value = std::bit_cast<float>(kMagic | magnitude) - std::bit_cast<float>(kMagic);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  const std::uint32_t bias = exponent == 0x7C00U ? 224U << 23U : 112U << 23U;
  return std::bit_cast<float>(sign | (magnitude + bias));
}

/// bfloat16, exact.
constexpr float BFloat16ToFloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

namespace float_formats_internal {

// Rounds the magnitude of a finite float to a format of `kMantissaBits` and exponent bias `kBias`; the result may be
// beyond the format's largest code, the caller then decides.
template <int kMantissaBits, int kBias>
constexpr std::uint32_t RoundMagnitude(std::uint32_t magnitude) {
  constexpr int kShift = 23 - kMantissaBits;
  constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - kBias) << 23U;
  if (magnitude < kSmallestNormal) {
    // Adding a power of two whose unit in the last place is the format's subnormal unit rounds correctly.
    constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(128 - kBias + kShift) << 23U;
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
    return std::bit_cast<std::uint32_t>(sum) - kMagic;
  }
  const std::uint32_t odd = (magnitude >> kShift) & 1U;
  const std::uint32_t rounded = (magnitude + (1U << (kShift - 1)) - 1U + odd) >> kShift;
  return rounded - (static_cast<std::uint32_t>(127 - kBias) << kMantissaBits);
}

constexpr std::uint32_t kInfinityBits = 0x7F800000U;

}  // namespace float_formats_internal

constexpr std::uint16_t FloatToHalf(float value) {
  using namespace float_formats_internal;  // NOLINT: local
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > kInfinityBits) {
    return static_cast<std::uint16_t>(sign | 0x7E00U);
  }
  std::uint32_t code = 0x7C00U;
  if (magnitude < (143U << 23U)) {  // 65536; what rounds up to it becomes the code of infinity by itself
    code = RoundMagnitude<10, 15>(magnitude);
  }
  return static_cast<std::uint16_t>(sign | code);
}

constexpr std::uint16_t FloatToBFloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > float_formats_internal::kInfinityBits) {
    return 0x7FC0U;
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

/// One of the fp8 formats with a sign. float8_e4m3fn has no infinity and saturates (infinity too), float8_e5m2 has one,
/// the "fnuz" formats have a single zero and NaN alone, 0x80, to which they overflow.
enum class Float8Kind : std::uint8_t { kSaturating, kWithInfinity, kUnsignedZero };

template <int kMantissaBits, int kBias, Float8Kind kKind>
struct Float8Format {
  static constexpr bool kHasInfinity = kKind == Float8Kind::kWithInfinity;
  static constexpr bool kUnsignedZero = kKind == Float8Kind::kUnsignedZero;
  static constexpr std::uint32_t kInfinityCode = 0x7FU & ~((1U << kMantissaBits) - 1U);
  static constexpr std::uint32_t kNanCode = kUnsignedZero ? 0x80U : 0x7FU;
  /// Largest finite magnitude.
  static constexpr std::uint32_t kMaxCode = kUnsignedZero ? 0x7FU : (kHasInfinity ? kInfinityCode - 1U : 0x7EU);

  static constexpr float ToFloat(std::uint8_t code) {
    const std::uint32_t magnitude = code & 0x7FU;
    const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80U) << 24U;
    if (kHasInfinity && magnitude == kInfinityCode) {
      return std::bit_cast<float>(sign | float_formats_internal::kInfinityBits);
    }
    if (kUnsignedZero ? code == kNanCode : magnitude > kMaxCode) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    std::uint32_t bits = 0;
    if (magnitude >> kMantissaBits == 0) {
      constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(128 - kBias) << 23U;
      bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(kMagic | (magnitude << (23 - kMantissaBits))) -
                                          std::bit_cast<float>(kMagic));
    } else {
      bits = (magnitude << (23 - kMantissaBits)) + (static_cast<std::uint32_t>(127 - kBias) << 23U);
    }
    return std::bit_cast<float>(sign | bits);
  }

  static constexpr std::uint8_t FromFloat(float value) {
    using namespace float_formats_internal;  // NOLINT: local
    constexpr std::uint32_t kOverflow =
        kHasInfinity ? kInfinityCode : (kKind == Float8Kind::kSaturating ? kMaxCode : kNanCode);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24U) & 0x80U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    std::uint32_t code = kOverflow;
    if (magnitude > kInfinityBits) {
      code = kNanCode;
    } else if (magnitude < kInfinityBits) {
      code = RoundMagnitude<kMantissaBits, kBias>(magnitude);
      if (code > kMaxCode) {
        code = kOverflow;
      }
    }
    if (kUnsignedZero && (code == 0 || code == kNanCode)) {
      return static_cast<std::uint8_t>(code);
    }
    return static_cast<std::uint8_t>(sign | code);
  }
};

using Float8E4M3FnFormat = Float8Format<3, 7, Float8Kind::kSaturating>;
using Float8E4M3FnuzFormat = Float8Format<3, 8, Float8Kind::kUnsignedZero>;
using Float8E5M2Format = Float8Format<2, 15, Float8Kind::kWithInfinity>;
using Float8E5M2FnuzFormat = Float8Format<2, 16, Float8Kind::kUnsignedZero>;

/// float8_e8m0fnu: an exponent alone, no sign, no zero; 255 is NaN.
struct Float8E8M0FnuFormat {
  static constexpr float ToFloat(std::uint8_t code) {
    if (code == 0xFFU) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    return std::bit_cast<float>(code == 0 ? 0x00400000U : static_cast<std::uint32_t>(code) << 23U);
  }
  /// The sign is dropped, zero becomes 2^-127, infinity NaN.
  static constexpr std::uint8_t FromFloat(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t exponent = (bits >> 23U) & 0xFFU;
    const std::uint32_t mantissa = bits & 0x7FFFFFU;
    if (exponent == 0xFFU) {
      return 0xFFU;
    }
    const bool round_up = mantissa > 0x400000U || (mantissa == 0x400000U && exponent > 0);
    return static_cast<std::uint8_t>(exponent + (round_up ? 1U : 0U));
  }
};

/// Values of all 256 codes.
template <typename Format>
inline constexpr std::array<float, 256> kFloat8Table = [] {
  std::array<float, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) {
    table[code] = Format::ToFloat(static_cast<std::uint8_t>(code));
  }
  return table;
}();

}  // namespace msprobe
