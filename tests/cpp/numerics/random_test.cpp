#include "numerics/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "numerics/checksum.h"
#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

RandomRange Range(double low, double high) {
  RandomRange range;
  range.low = low;
  range.high = high;
  return range;
}

RandomRange IntegerRange(std::int64_t low, std::int64_t high) {
  RandomRange range;
  range.integer_low = low;
  range.integer_high = high;
  return range;
}

// The elements (for complex: components) as double.
std::vector<double> Fill(DType dtype, std::int64_t count, const RandomRange& range, std::uint64_t key = 42) {
  std::vector<std::byte> data(static_cast<std::size_t>(count) * ItemSize(dtype));
  FillRandom(dtype, data.data(), count, range, key);
  std::vector<double> values(static_cast<std::size_t>(count * ComponentCount(dtype)));
  ConvertToDouble(ComponentDType(dtype), data.data(), count * ComponentCount(dtype), values.data());
  return values;
}

template <typename T>
std::vector<T> FillIntegers(DType dtype, std::int64_t count, const RandomRange& range, std::uint64_t key = 42) {
  std::vector<T> data(static_cast<std::size_t>(count));
  FillRandom(dtype, data.data(), count, range, key);
  return data;
}

bool Same(const std::vector<double>& actual, const std::vector<double>& expected) {
  return std::equal(actual.begin(), actual.end(), expected.begin(), expected.end(),
                    [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

TEST(Philox, KnownAnswersOfRandom123) {
  struct Case {
    std::uint32_t counter[4];
    std::uint32_t key[2];
    std::uint32_t expected[4];
  };
  const Case cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
      {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
       {0xFFFFFFFF, 0xFFFFFFFF},
       {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
      {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
       {0xA4093822, 0x299F31D0},
       {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}},
  };
  for (const Case& item : cases) {
    std::uint32_t out[4];
    Philox4x32(item.counter, item.key, out);
    EXPECT_TRUE(std::equal(out, out + 4, item.expected));
  }
  std::uint32_t out[4];
  Philox(0).Generate(0, out);
  EXPECT_EQ(out[0], 0x6627E8D5U);
}

TEST(RandomKey, DependsOnEveryPart) {
  const std::set<std::uint64_t> keys = {
      RandomKey(1234, "Torch.add.0", "input.0"),           RandomKey(1235, "Torch.add.0", "input.0"),
      RandomKey(1234, "Torch.add.1", "input.0"),           RandomKey(1234, "Torch.add.0", "input.1"),
      RandomKey(1234, "Torch.add.0i", "nput.0"),           RandomKey(1234, "Torch.add.0input.0", ""),
      RandomKey(1234ULL << 32U, "Torch.add.0", "input.0"),
  };
  EXPECT_EQ(keys.size(), 7U);
}

TEST(RandomKey, IsStable) {
  // FNV-1a over 8 + 11 + 1 + 7 bytes and the SplitMix64 finaliser, computed by hand in another language.
  EXPECT_EQ(RandomKey(1234, "Torch.add.0", "input.0"), 0xD47308E5683BDBD6U);
}

const DType kFloating[] = {DType::kFloat8E4M3Fn, DType::kFloat8E4M3Fnuz, DType::kFloat8E5M2, DType::kFloat8E5M2Fnuz,
                           DType::kFloat16,      DType::kBFloat16,       DType::kFloat32,    DType::kFloat64};

TEST(FillRandom, StaysBetweenTheEndsInEveryFloatingDType) {
  // Ends that most dtypes cannot represent.
  const std::pair<double, double> ends[] = {{-1.1, 2.3}, {0.1, 0.30001}, {-7.77, -3.33}, {0, 1}, {-1e-2, 1e-2}};
  for (const DType dtype : kFloating) {
    for (const auto& [low, high] : ends) {
      const std::vector<double> values = Fill(dtype, 5000, Range(low, high));
      const auto [min, max] = std::minmax_element(values.begin(), values.end());
      EXPECT_GE(*min, low) << ShortName(dtype);
      EXPECT_LE(*max, high) << ShortName(dtype);
      EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 2U) << ShortName(dtype) << low;
      EXPECT_EQ(values.front(), *min) << "the first element is the lower end";
      EXPECT_EQ(values.back(), *max) << "the last element is the upper end";
    }
  }
}

TEST(FillRandom, PowersOfTwoOnlyInE8M0) {
  const std::vector<double> values = Fill(DType::kFloat8E8M0Fnu, 1000, Range(0.75, 100.0));
  EXPECT_EQ(values.front(), 1.0);
  EXPECT_EQ(values.back(), 64.0);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 1.0);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 64.0);
}

TEST(FillRandom, KeepsRecordedEndsExactly) {
  const float low = -3.1415927F;
  const float high = 0.1F;
  const std::vector<double> values =
      Fill(DType::kFloat32, 100, Range(static_cast<double>(low), static_cast<double>(high)));
  EXPECT_EQ(values.front(), static_cast<double>(low));
  EXPECT_EQ(values.back(), static_cast<double>(high));
}

TEST(FillRandom, NoValueBetweenTheEnds) {
  EXPECT_TRUE(Same(Fill(DType::kFloat16, 3, Range(0.1, 0.1)), std::vector<double>(3, 0.0999755859375)));
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 4, Range(2.5, 2.5)), std::vector<double>(4, 2.5)));
}

TEST(FillRandom, IsUniform) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const std::vector<double> values = Fill(dtype, 100000, Range(0, 1));
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 1e5, 0.5, 0.005) << ShortName(dtype);
    EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.005) << ShortName(dtype);
  }
}

TEST(FillRandom, RangesBeyondTheDType) {
  const std::vector<double> float32 = Fill(DType::kFloat32, 1000, Range(-3e38, 3e38));
  EXPECT_TRUE(std::all_of(float32.begin(), float32.end(), [](double v) { return std::fabs(v) <= 3e38; }));
  EXPECT_GT(std::set<double>(float32.begin(), float32.end()).size(), 990U);
  const double largest = std::numeric_limits<double>::max();
  const std::vector<double> float64 = Fill(DType::kFloat64, 1000, Range(-largest, largest));
  EXPECT_TRUE(std::all_of(float64.begin(), float64.end(), [](double v) { return std::isfinite(v); }));
  EXPECT_GT(std::set<double>(float64.begin(), float64.end()).size(), 990U);
  const std::vector<double> cut = Fill(DType::kFloat16, 3, Range(-1e9, 1e9));
  EXPECT_EQ(cut.front(), -65504.0);
  EXPECT_EQ(cut.back(), 65504.0);
  const std::vector<double> swapped = Fill(DType::kFloat32, 3, Range(2, -2));
  EXPECT_EQ(swapped.front(), -2.0);
}

TEST(FillRandom, InfiniteEnds) {  // B73
  RandomRange range = Range(-kInfinity, kInfinity);
  range.has_positive_infinity = true;
  range.has_negative_infinity = true;
  const std::vector<double> values = Fill(DType::kFloat16, 100, range);
  EXPECT_EQ(values.front(), -kInfinity);
  EXPECT_EQ(values.back(), kInfinity);
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    EXPECT_TRUE(std::isfinite(values[i]));
  }
  range.nothing_finite = true;
  EXPECT_TRUE(Same(Fill(DType::kFloat16, 4, range), {-kInfinity, kInfinity, kInfinity, kInfinity}));
  RandomRange companions = Range(-2, 3);
  companions.has_positive_infinity = true;
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 2, companions), {-2, kInfinity}));
  companions.has_negative_infinity = true;
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 2, companions), {-kInfinity, kInfinity}));
}

TEST(FillRandom, AllInfinite) {  // B72
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 1, Range(kInfinity, kInfinity)), {kInfinity}));
  EXPECT_TRUE(Same(Fill(DType::kBFloat16, 3, Range(-kInfinity, -kInfinity)), std::vector<double>(3, -kInfinity)));
}

TEST(FillRandom, NotANumber) {  // B70, B74
  RandomRange all = Range(kNan, kNan);
  all.high_is_nan = true;
  all.low_is_nan = true;
  for (const DType dtype : kFloating) {
    EXPECT_TRUE(Same(Fill(dtype, 3, all), {kNan, kNan, kNan})) << ShortName(dtype);
  }
  RandomRange some = Range(-1, 1);
  some.high_is_nan = true;
  some.low_is_nan = true;
  some.contains_nan = true;
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 1, some), {1}));
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 2, some), {kNan, 1}));
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 3, some), {-1, kNan, 1}));
  const std::vector<double> many = Fill(DType::kFloat16, 100, some);
  EXPECT_EQ(std::count_if(many.begin(), many.end(), [](double v) { return std::isnan(v); }), 1);
}

TEST(FillRandom, FewElements) {  // B74
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 1, Range(-1, 1)), {1}));
  EXPECT_TRUE(Same(Fill(DType::kFloat32, 2, Range(-1, 1)), {-1, 1}));
  EXPECT_EQ(FillIntegers<std::int32_t>(DType::kInt32, 1, IntegerRange(-5, 5)), std::vector<std::int32_t>{5});
  FillRandom(DType::kFloat32, nullptr, 0, Range(-1, 1), 1);
}

TEST(FillRandom, IntegersInClosedIntervals) {  // B75
  const std::vector<std::uint8_t> bytes = FillIntegers<std::uint8_t>(DType::kUint8, 100000, IntegerRange(0, 255));
  EXPECT_EQ(std::set<std::uint8_t>(bytes.begin(), bytes.end()).size(), 256U);
  const std::vector<std::int64_t> dice = FillIntegers<std::int64_t>(DType::kInt64, 60000, IntegerRange(1, 6));
  for (std::int64_t face = 1; face <= 6; ++face) {
    EXPECT_NEAR(static_cast<double>(std::count(dice.begin(), dice.end(), face)), 10000.0, 500.0);
  }
  EXPECT_EQ(*std::min_element(dice.begin(), dice.end()), 1);
  EXPECT_EQ(*std::max_element(dice.begin(), dice.end()), 6);
}

TEST(FillRandom, IntegerLimits) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  const auto whole = FillIntegers<std::int64_t>(DType::kInt64, 1000, IntegerRange(kMin, kMax));
  EXPECT_EQ(whole.front(), kMin);
  EXPECT_EQ(whole.back(), kMax);
  EXPECT_GT(std::set<std::int64_t>(whole.begin(), whole.end()).size(), 990U);
  const auto upper = FillIntegers<std::int64_t>(DType::kInt64, 1000, IntegerRange(kMax - 1, kMax));
  EXPECT_EQ(std::set<std::int64_t>(upper.begin(), upper.end()), (std::set<std::int64_t>{kMax - 1, kMax}));
  const auto unsigned_values = FillIntegers<std::uint64_t>(DType::kUint64, 1000, IntegerRange(5, -1));
  EXPECT_EQ(unsigned_values.front(), 5U);
  EXPECT_EQ(unsigned_values.back(), std::numeric_limits<std::uint64_t>::max());
  const auto cut = FillIntegers<std::int8_t>(DType::kInt8, 1000, IntegerRange(-1000, 1000));
  EXPECT_EQ(cut.front(), -128);
  EXPECT_EQ(cut.back(), 127);
  const auto constant = FillIntegers<std::int32_t>(DType::kInt32, 10, IntegerRange(7, 7));
  EXPECT_EQ(constant, std::vector<std::int32_t>(10, 7));
  const auto swapped = FillIntegers<std::uint16_t>(DType::kUint16, 2, IntegerRange(9, 3));
  EXPECT_EQ(swapped, (std::vector<std::uint16_t>{3, 9}));
  const auto unsigned_32 = FillIntegers<std::uint32_t>(DType::kUint32, 2, IntegerRange(0, 4294967295));
  EXPECT_EQ(unsigned_32.back(), 4294967295U);
}

TEST(FillRandom, Bool) {  // B75
  const auto swapped = FillIntegers<std::uint8_t>(DType::kBool, 1000, IntegerRange(1, 0));
  EXPECT_EQ(std::set<std::uint8_t>(swapped.begin(), swapped.end()), (std::set<std::uint8_t>{0, 1}));
  EXPECT_NEAR(static_cast<double>(std::count(swapped.begin(), swapped.end(), 1)), 500.0, 100.0);
  EXPECT_EQ(FillIntegers<std::uint8_t>(DType::kBool, 3, IntegerRange(1, 1)), (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ(FillIntegers<std::uint8_t>(DType::kBool, 3, IntegerRange(0, 0)), (std::vector<std::uint8_t>{0, 0, 0}));
}

TEST(FillRandom, Complex) {
  for (const DType dtype : {DType::kComplex32, DType::kComplex64, DType::kComplex128}) {
    const std::vector<double> parts = Fill(dtype, 2000, Range(1, 4));
    bool negative = false;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      const double absolute = std::abs(std::complex<double>(parts[i], parts[i + 1]));
      EXPECT_GE(absolute, 1 - 1e-3) << ShortName(dtype);
      EXPECT_LE(absolute, 4 + 1e-2) << ShortName(dtype);
      negative = negative || parts[i + 1] < -1;
    }
    EXPECT_TRUE(negative);
    EXPECT_EQ(parts[0], 1.0);
    EXPECT_EQ(parts[parts.size() - 2], 4.0);
  }
  RandomRange range = Range(0, 2);
  range.has_positive_infinity = true;
  EXPECT_TRUE(Same(Fill(DType::kComplex64, 2, range), {0, 0, kInfinity, 0}));
  RandomRange some = Range(0, 2);
  some.contains_nan = true;
  EXPECT_TRUE(Same(Fill(DType::kComplex64, 2, some), {kNan, kNan, 2, 0}));
}

TEST(FillRandom, KeyAndPositionAloneDecide) {
  const std::vector<double> reference = Fill(DType::kFloat32, 5000, Range(-1, 1), 7);
  EXPECT_EQ(Fill(DType::kFloat32, 5000, Range(-1, 1), 7), reference);
  EXPECT_NE(Fill(DType::kFloat32, 5000, Range(-1, 1), 8), reference);
  const std::vector<double> shorter = Fill(DType::kFloat32, 1501, Range(-1, 1), 7);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end() - 1, reference.begin()));
}

// These bytes may not change between versions or machines: NPU and GPU runs must see the same inputs.
TEST(FillRandom, BytesAreStable) {
  std::vector<std::byte> data(16 * 3001);
  const std::pair<DType, std::uint32_t> expected[] = {
      {DType::kUint8, 0x88169BF3U},   {DType::kInt64, 0x35094972U},     {DType::kFloat8E5M2, 0x29EF522DU},
      {DType::kFloat16, 0x326C028EU}, {DType::kBFloat16, 0xB2DDCD10U},  {DType::kFloat32, 0xF7DADB8BU},
      {DType::kFloat64, 0xDE455968U}, {DType::kComplex64, 0xA0567ED1U},
  };
  for (const auto& [dtype, checksum] : expected) {
    RandomRange range = Range(-1.5, 2.75);
    range.integer_low = 3;
    range.integer_high = 100;
    FillRandom(dtype, data.data(), 3001, range, RandomKey(1234, "Functional.linear.0", "input.0"));
    EXPECT_EQ(Crc32(0, data.data(), 3001 * ItemSize(dtype)), checksum) << ShortName(dtype);
  }
}

}  // namespace
}  // namespace msprobe
