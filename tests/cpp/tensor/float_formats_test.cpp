#include "tensor/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

// CRC-32 by its definition, so that this module's test needs no other module.
std::uint32_t Crc32(const void* data, std::size_t size) {
  std::uint32_t crc = 0xFFFFFFFFU;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= static_cast<const std::uint8_t*>(data)[i];
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~crc;
}

struct HalfFormat {
  static float ToFloat(std::uint16_t code) { return HalfToFloat(code); }
  static std::uint16_t FromFloat(float value) { return FloatToHalf(value); }
};

struct BFloat16Format {
  static float ToFloat(std::uint16_t code) { return BFloat16ToFloat(code); }
  static std::uint16_t FromFloat(float value) { return FloatToBFloat16(value); }
};

// All codes as float32, NaN as 0x7FC00000.
template <typename Format, typename Code>
std::uint32_t DecodedChecksum() {
  std::vector<float> values;
  for (std::uint32_t code = 0; code <= std::numeric_limits<Code>::max(); ++code) {
    const float value = Format::ToFloat(static_cast<Code>(code));
    values.push_back(std::isnan(value) ? std::bit_cast<float>(0x7FC00000U) : value);
  }
  return Crc32(values.data(), values.size() * sizeof(float));
}

// The codes of floats with every upper half and lower halves around all rounding borders; NaN as 0x7F or 0x7FFF.
template <typename Format, typename Code>
std::uint32_t EncodedChecksum() {
  constexpr std::uint32_t kLowerHalves[] = {0,      1,      0x0FFF, 0x1000, 0x1001, 0x1FFF,
                                            0x2000, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  std::vector<Code> codes;
  for (const std::uint32_t lower : kLowerHalves) {
    for (std::uint32_t upper = 0; upper < 65536; ++upper) {
      const Code code = Format::FromFloat(std::bit_cast<float>((upper << 16U) | lower));
      const bool is_nan = std::isnan(Format::ToFloat(code));
      codes.push_back(is_nan ? static_cast<Code>(std::numeric_limits<std::make_signed_t<Code>>::max()) : code);
    }
  }
  return Crc32(codes.data(), codes.size() * sizeof(Code));
}

// The checksums are those of torch 2.13's own conversions of the same inputs.
TEST(FloatFormats, EveryCodeAsTorchReadsIt) {
  EXPECT_EQ((DecodedChecksum<Float8E4M3FnFormat, std::uint8_t>()), 0x2FDEE9ACU);
  EXPECT_EQ((DecodedChecksum<Float8E4M3FnuzFormat, std::uint8_t>()), 0xF2DFA052U);
  EXPECT_EQ((DecodedChecksum<Float8E5M2Format, std::uint8_t>()), 0x3D83FD11U);
  EXPECT_EQ((DecodedChecksum<Float8E5M2FnuzFormat, std::uint8_t>()), 0x09C70B84U);
  EXPECT_EQ((DecodedChecksum<Float8E8M0FnuFormat, std::uint8_t>()), 0x719979BAU);
  EXPECT_EQ((DecodedChecksum<HalfFormat, std::uint16_t>()), 0x3020C7A7U);
  EXPECT_EQ((DecodedChecksum<BFloat16Format, std::uint16_t>()), 0x28C5ED34U);
}

TEST(FloatFormats, EveryRoundingAsTorchDoesIt) {
  EXPECT_EQ((EncodedChecksum<Float8E4M3FnFormat, std::uint8_t>()), 0xC325FA7CU);
  EXPECT_EQ((EncodedChecksum<Float8E4M3FnuzFormat, std::uint8_t>()), 0xCB1CD6D3U);
  EXPECT_EQ((EncodedChecksum<Float8E5M2Format, std::uint8_t>()), 0x45652611U);
  EXPECT_EQ((EncodedChecksum<Float8E5M2FnuzFormat, std::uint8_t>()), 0x0E7870EFU);
  EXPECT_EQ((EncodedChecksum<Float8E8M0FnuFormat, std::uint8_t>()), 0xD30743E8U);
  EXPECT_EQ((EncodedChecksum<HalfFormat, std::uint16_t>()), 0x49F6F342U);
  EXPECT_EQ((EncodedChecksum<BFloat16Format, std::uint16_t>()), 0x5784C4F3U);
}

template <typename Format, typename Code>
void CheckRoundTrip() {
  for (std::uint32_t code = 0; code <= std::numeric_limits<Code>::max(); ++code) {
    const float value = Format::ToFloat(static_cast<Code>(code));
    if (!std::isnan(value)) {
      ASSERT_EQ(Format::FromFloat(value), code) << value;
    }
  }
}

TEST(FloatFormats, EveryValueComesBack) {
  CheckRoundTrip<Float8E4M3FnFormat, std::uint8_t>();
  CheckRoundTrip<Float8E4M3FnuzFormat, std::uint8_t>();
  CheckRoundTrip<Float8E5M2Format, std::uint8_t>();
  CheckRoundTrip<Float8E5M2FnuzFormat, std::uint8_t>();
  CheckRoundTrip<Float8E8M0FnuFormat, std::uint8_t>();
  CheckRoundTrip<HalfFormat, std::uint16_t>();
  CheckRoundTrip<BFloat16Format, std::uint16_t>();
}

TEST(FloatFormats, KnownValues) {
  EXPECT_EQ(HalfToFloat(0x3C00), 1.0F);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(HalfToFloat(0xFBFF), -65504.0F);
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7C00);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0x0000) << "a tie goes to even";
  EXPECT_EQ(FloatToHalf(0x1.8p-24F), 0x0002);
  EXPECT_EQ(FloatToBFloat16(1.00390625F), 0x3F80) << "a tie goes to even";
  EXPECT_EQ(FloatToBFloat16(1.01171875F), 0x3F82);
  EXPECT_EQ(Float8E4M3FnFormat::ToFloat(0x7E), 448.0F);
  EXPECT_EQ(Float8E4M3FnFormat::FromFloat(1000.0F), 0x7E);
  EXPECT_EQ(Float8E4M3FnFormat::FromFloat(-INFINITY), 0xFE);
  EXPECT_EQ(Float8E5M2Format::FromFloat(61440.0F), 0x7C);
  EXPECT_EQ(Float8E5M2Format::FromFloat(61439.0F), 0x7B);
  EXPECT_EQ(Float8E4M3FnuzFormat::FromFloat(248.0F), 0x80);
  EXPECT_EQ(Float8E4M3FnuzFormat::FromFloat(-0.0F), 0x00);
  EXPECT_EQ(Float8E8M0FnuFormat::FromFloat(3.0F), 129) << "a tie goes to the even significand";
}

TEST(ElementConversion, ToDouble) {
  double out[4];
  const std::uint8_t flags[] = {0, 1, 7, 0};
  ConvertToDouble(DType::kBool, flags, 4, out);
  EXPECT_EQ(out[2], 1.0);
  EXPECT_EQ(out[3], 0.0);
  const std::int64_t integers[] = {(std::int64_t{1} << 53) + 1, -5};
  ConvertToDouble(DType::kInt64, integers, 2, out);
  EXPECT_EQ(out[0], 0x1p53);
  EXPECT_EQ(out[1], -5.0);
  const std::uint64_t large[] = {std::numeric_limits<std::uint64_t>::max()};
  ConvertToDouble(DType::kUint64, large, 1, out);
  EXPECT_EQ(out[0], 0x1p64);
  const std::uint16_t half[] = {0x3C00, 0x7C00};
  ConvertToDouble(DType::kFloat16, half, 2, out);
  EXPECT_EQ(out[0], 1.0);
  EXPECT_EQ(out[1], HUGE_VAL);
  const std::int8_t bytes[] = {-128};
  ConvertToDouble(DType::kInt8, bytes, 1, out);
  EXPECT_EQ(out[0], -128.0);
}

TEST(ElementConversion, FromDoubleAndBackForEveryFloatingDType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!IsFloating(dtype)) {
      continue;
    }
    const double values[] = {1.0, 2.0, LargestFinite(dtype), 0.5};
    std::byte data[32];
    double back[4];
    float back_float[4];
    ConvertFromDouble(values, 4, dtype, data);
    ConvertToDouble(dtype, data, 4, back);
    ConvertToFloat(dtype, data, 4, back_float);
    for (int k = 0; k < 4; ++k) {
      EXPECT_EQ(back[k], values[k]) << ShortName(dtype);
      EXPECT_EQ(back_float[k], static_cast<float>(values[k])) << ShortName(dtype);
    }
  }
}

TEST(ElementConversion, Components) {
  EXPECT_EQ(ComponentDType(DType::kComplex32), DType::kFloat16);
  EXPECT_EQ(ComponentDType(DType::kComplex64), DType::kFloat32);
  EXPECT_EQ(ComponentDType(DType::kComplex128), DType::kFloat64);
  EXPECT_EQ(ComponentDType(DType::kBFloat16), DType::kBFloat16);
  EXPECT_EQ(ComponentCount(DType::kComplex64), 2);
  EXPECT_EQ(ComponentCount(DType::kFloat64), 1);
}

}  // namespace
}  // namespace msprobe
