#include "numerics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "numerics/targets.h"
#include "tensor/element_conversion.h"
#include "tensor/float_formats.h"

namespace msprobe {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
Statistics Compute(DType dtype, const std::vector<T>& data) {
  const std::int64_t shape[] = {static_cast<std::int64_t>(data.size())};
  return ComputeStatistics({data.data(), dtype, shape, {}});
}

template <typename T>
Statistics ComputeScalar(DType dtype, T value) {
  return ComputeStatistics({&value, dtype, {}, {}});
}

double Double(const StatisticValue& value) { return std::get<double>(value); }

void ExpectSameBits(double actual, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << what;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(actual), std::bit_cast<std::uint64_t>(expected))
        << what << ": " << actual << " instead of " << expected;
  }
}

// The definition, element by element: sixteen lanes, then halves added to halves.
struct Reference {
  double max = -kInfinity;
  double min = kInfinity;
  double mean = 0;
  double norm = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t positive_count = 0;
  std::uint64_t negative_count = 0;

  explicit Reference(const std::vector<double>& values) {
    std::vector<double> sums(16);
    std::vector<double> squares(16);
    for (std::size_t i = 0; i < values.size(); ++i) {
      volatile double square = values[i] * values[i];
      sums[i % 16] += values[i];
      squares[i % 16] += square;
      nan_count += std::isnan(values[i]) ? 1 : 0;
      positive_count += values[i] == kInfinity ? 1 : 0;
      negative_count += values[i] == -kInfinity ? 1 : 0;
      if (std::isfinite(values[i])) {
        max = std::max(max, values[i]);
        min = std::min(min, values[i]);
      }
    }
    for (std::size_t width = 8; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) {
        sums[i] += sums[i + width];
        squares[i] += squares[i + width];
      }
    }
    mean = sums[0] / static_cast<double>(values.size());
    norm = std::sqrt(squares[0]);
  }
};

double Number(const StatisticValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  return std::get<double>(value);
}

// Random bytes as elements, all finite, in every size around the lane count and the block sizes, on every target.
void CheckOnAllTargets(DType dtype) {
  std::mt19937_64 random(static_cast<std::uint64_t>(dtype) + 1);
  const std::size_t sizes[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 256, 1000, 1023, 1025, 16384, 40003};
  for (const std::size_t size : sizes) {
    std::vector<double> values(size);
    std::vector<std::byte> data(size * ItemSize(dtype));
    for (std::size_t i = 0; i < size; ++i) {
      do {
        const std::uint64_t bits = random();
        std::memcpy(data.data() + i * ItemSize(dtype), &bits, ItemSize(dtype));
        if (dtype == DType::kFloat64) {  // a range whose squares do not overflow
          const double value =
              std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), static_cast<int>(random() % 200) - 100);
          std::memcpy(data.data() + i * 8, &value, 8);
        }
        ConvertToDouble(dtype, data.data() + i * ItemSize(dtype), 1, &values[i]);
      } while (!std::isfinite(values[i]));
    }
    const Reference expected(values);
    const std::int64_t shape[] = {static_cast<std::int64_t>(size)};
    ForEachTarget([&](const std::string& target) {
      const Statistics actual = ComputeStatistics({data.data(), dtype, shape, {}});
      const std::string where = target + " size " + std::to_string(size);
      EXPECT_EQ(Number(actual.max), expected.max) << where;
      EXPECT_EQ(Number(actual.min), expected.min) << where;
      ExpectSameBits(Double(actual.mean), expected.mean, where + " mean");
      ExpectSameBits(Double(actual.norm), expected.norm, where + " norm");
      EXPECT_EQ(actual.nan_count + actual.positive_infinity_count + actual.negative_infinity_count, 0U) << where;
    });
  }
}

TEST(Statistics, EveryRealDTypeOnEveryTarget) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::kBool && !IsComplex(dtype)) {
      SCOPED_TRACE(std::string(ShortName(dtype)));
      CheckOnAllTargets(dtype);
    }
  }
}

TEST(Statistics, EveryCodeOfTheSixteenBitFormatsOnEveryTarget) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    std::vector<std::uint16_t> codes;
    for (std::uint32_t code = 0; code < 65536; ++code) {
      codes.push_back(static_cast<std::uint16_t>(code));
    }
    ForEachTarget([&](const std::string& target) {
      for (std::size_t start = 0; start < codes.size(); start += 64) {
        const std::vector<std::uint16_t> part(codes.begin() + static_cast<std::ptrdiff_t>(start),
                                              codes.begin() + static_cast<std::ptrdiff_t>(start + 64));
        std::vector<double> values(64);
        ConvertToDouble(dtype, part.data(), 64, values.data());
        const Reference expected(values);
        const Statistics actual = Compute(dtype, part);
        const std::string where = target + " from code " + std::to_string(start);
        ASSERT_EQ(actual.nan_count, expected.nan_count) << where;
        ASSERT_EQ(actual.positive_infinity_count, expected.positive_count) << where;
        ASSERT_EQ(actual.negative_infinity_count, expected.negative_count) << where;
        if (expected.max >= expected.min) {
          ASSERT_EQ(actual.finite_max, expected.max) << where;
          ASSERT_EQ(actual.finite_min, expected.min) << where;
        }
        if (expected.nan_count == 0 && expected.positive_count == 0 && expected.negative_count == 0) {
          ExpectSameBits(Double(actual.norm), expected.norm, where);
        }
      }
    });
  }
}

TEST(Statistics, NonFiniteAtEveryPositionOnEveryTarget) {
  ForEachTarget([&](const std::string& target) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
      for (const double special : {kNan, kInfinity, -kInfinity}) {
        for (std::size_t position = 0; position < 70; ++position) {
          std::vector<double> values(70);
          for (std::size_t i = 0; i < 70; ++i) {
            values[i] = static_cast<double>(i) - 30.0;
          }
          values[position] = special;
          const Reference expected(values);
          std::vector<double> data(70);
          ConvertFromDouble(values.data(), 70, dtype, data.data());
          const Statistics actual = Compute(dtype, data);
          const std::string where = target + " " + std::string(ShortName(dtype)) + " at " + std::to_string(position);
          ASSERT_EQ(actual.finite_max, expected.max) << where;
          ASSERT_EQ(actual.finite_min, expected.min) << where;
          ASSERT_EQ(actual.nan_count, expected.nan_count) << where;
          ASSERT_EQ(actual.positive_infinity_count, expected.positive_count) << where;
          ASSERT_EQ(actual.negative_infinity_count, expected.negative_count) << where;
          ExpectSameBits(Double(actual.max), std::isnan(special) ? kNan : std::max(special, expected.max), where);
          ExpectSameBits(Double(actual.min), std::isnan(special) ? kNan : std::min(special, expected.min), where);
          ExpectSameBits(Double(actual.mean), special, where);
          ExpectSameBits(Double(actual.norm), std::fabs(special), where);
        }
      }
    }
  });
}

TEST(Statistics, NothingFinite) {
  const Statistics infinite = Compute<float>(DType::kFloat32, {INFINITY, -INFINITY});
  EXPECT_EQ(infinite.finite_max, kInfinity);
  EXPECT_EQ(infinite.finite_min, -kInfinity);
  EXPECT_TRUE(std::isnan(Double(infinite.mean)));
  EXPECT_EQ(Double(infinite.norm), kInfinity);
  const Statistics negative = Compute<float>(DType::kFloat32, {-INFINITY, NAN});
  EXPECT_EQ(negative.finite_max, -kInfinity);
  EXPECT_EQ(negative.finite_min, -kInfinity);
  EXPECT_TRUE(std::isnan(Double(negative.max)));
  const Statistics all_nan = Compute<float>(DType::kFloat32, {NAN, NAN, NAN});
  EXPECT_TRUE(std::isnan(all_nan.finite_max));
  EXPECT_TRUE(std::isnan(all_nan.finite_min));
  EXPECT_EQ(all_nan.nan_count, 3U);
}

TEST(Statistics, EmptyTensorsAreNull) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const std::int64_t shape[] = {2, 0};
    const Statistics statistics = ComputeStatistics({nullptr, static_cast<DType>(i), shape, {}});
    EXPECT_EQ(statistics.element_count, 0U);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(statistics.max));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(statistics.min));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(statistics.mean));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(statistics.norm));
  }
}

TEST(Statistics, Bool) {
  const Statistics mixed = Compute<std::uint8_t>(DType::kBool, {1, 0});
  EXPECT_EQ(mixed.max, StatisticValue(true));
  EXPECT_EQ(mixed.min, StatisticValue(false));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(mixed.mean));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(mixed.norm));
  EXPECT_EQ(Compute<std::uint8_t>(DType::kBool, {0, 0, 0}).max, StatisticValue(false));
  EXPECT_EQ(Compute<std::uint8_t>(DType::kBool, {1, 1, 1}).min, StatisticValue(true));
  const Statistics scalar = ComputeScalar<std::uint8_t>(DType::kBool, 1);
  EXPECT_EQ(scalar.max, StatisticValue(true));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(scalar.norm));
}

TEST(Statistics, IntegersKeepTheirDigits) {
  const Statistics beyond_float = Compute<std::int64_t>(DType::kInt64, {16777217, 3});
  EXPECT_EQ(beyond_float.max, StatisticValue(std::int64_t{16777217}));
  EXPECT_EQ(beyond_float.min, StatisticValue(std::int64_t{3}));
  EXPECT_EQ(Double(beyond_float.mean), 8388610.0);
  EXPECT_DOUBLE_EQ(Double(beyond_float.norm), std::sqrt(16777217.0 * 16777217.0 + 9.0));
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(Compute<std::int64_t>(DType::kInt64, {large, -large}).max, StatisticValue(large));
  EXPECT_EQ(Compute<std::int64_t>(DType::kInt64, {large, -large}).min, StatisticValue(-large));
  const auto top = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Compute<std::uint64_t>(DType::kUint64, {top, 1}).max, StatisticValue(top));
  EXPECT_EQ(Compute<std::uint64_t>(DType::kUint64, {top, 1}).min, StatisticValue(std::uint64_t{1}));
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Compute<std::int64_t>(DType::kInt64, {lowest}).min, StatisticValue(lowest));
  EXPECT_EQ(Compute<std::uint32_t>(DType::kUint32, {4294967295U, 7}).max, StatisticValue(std::int64_t{4294967295}));
  EXPECT_EQ(Compute<std::int8_t>(DType::kInt8, {-128, 127}).min, StatisticValue(std::int64_t{-128}));
}

TEST(Statistics, ZeroDimensionsGiveTheValueFourTimes) {
  const Statistics floating = ComputeScalar(DType::kFloat32, -2.5F);
  for (const auto& value : {floating.max, floating.min, floating.mean, floating.norm}) {
    EXPECT_EQ(value, StatisticValue(-2.5));
  }
  const Statistics integer = ComputeScalar(DType::kInt32, std::int32_t{-7});
  for (const auto& value : {integer.max, integer.min, integer.mean, integer.norm}) {
    EXPECT_EQ(value, StatisticValue(std::int64_t{-7}));
  }
  const Statistics complex = ComputeScalar(DType::kComplex64, std::complex<float>(3, 4));
  for (const auto& value : {complex.max, complex.min, complex.mean, complex.norm}) {
    EXPECT_EQ(value, StatisticValue(5.0));
  }
  const Statistics not_a_number = ComputeScalar(DType::kFloat64, kNan);
  EXPECT_TRUE(std::isnan(Double(not_a_number.norm)));
}

TEST(Statistics, AZeroOfNoDimensionKeepsItsSign) {
  for (const StatisticValue& value :
       {ComputeScalar(DType::kFloat32, -0.0F).max, ComputeScalar(DType::kFloat64, -0.0).min,
        ComputeScalar(DType::kBFloat16, std::uint16_t{0x8000}).norm}) {
    ExpectSameBits(Double(value), -0.0, "zero");
  }
  ExpectSameBits(Double(ComputeScalar(DType::kFloat32, 0.0F).max), 0.0, "zero");
}

TEST(Statistics, ZerosBesideTheMemoryCount) {
  const std::vector<float> stored = {3, 1};
  const std::int64_t shape[] = {2};
  const TensorView view{stored.data(), DType::kFloat32, shape, {}};
  const Statistics same = WithZeros(ComputeStatistics(view), view, 0);
  EXPECT_EQ(same.min, StatisticValue(1.0));
  const Statistics all = WithZeros(ComputeStatistics(view), view, 2);
  EXPECT_EQ(all.max, StatisticValue(3.0));
  EXPECT_EQ(all.min, StatisticValue(0.0));
  EXPECT_EQ(all.mean, StatisticValue(1.0));
  EXPECT_DOUBLE_EQ(Double(all.norm), std::sqrt(10.0));
  EXPECT_EQ(all.element_count, 4U);
  const std::int64_t none[] = {0};
  const TensorView empty{nullptr, DType::kInt32, none, {}};
  const Statistics zeros = WithZeros(ComputeStatistics(empty), empty, 5);
  EXPECT_EQ(zeros.max, StatisticValue(std::int64_t{0}));
  EXPECT_EQ(zeros.norm, StatisticValue(std::int64_t{0}));
}

TEST(Statistics, ComplexUsesAbsoluteValues) {
  const Statistics small = Compute<std::complex<float>>(DType::kComplex64, {{3, 4}, {0, 0}});
  EXPECT_EQ(Double(small.max), 5.0);
  EXPECT_EQ(Double(small.min), 0.0);
  EXPECT_EQ(Double(small.mean), 2.5);
  EXPECT_EQ(Double(small.norm), 5.0);
  // Beyond the range of squares in double.
  const Statistics large = Compute<std::complex<double>>(DType::kComplex128, {{3e300, 4e300}, {0, 3e-300}});
  EXPECT_DOUBLE_EQ(Double(large.max), 5e300);
  EXPECT_DOUBLE_EQ(Double(large.min), 3e-300);
  EXPECT_DOUBLE_EQ(Double(large.norm), 5e300);
  // The absolute value of a complex64 is a float32, unless it overflows there.
  EXPECT_EQ(Compute<std::complex<float>>(DType::kComplex64, {{1, 1}}).finite_max, static_cast<double>(std::sqrt(2.0F)));
  const Statistics beyond = Compute<std::complex<float>>(DType::kComplex64, {{3e38F, 3e38F}});
  EXPECT_TRUE(std::isfinite(Double(beyond.max)));
  const Statistics infinite = Compute<std::complex<float>>(DType::kComplex64, {{NAN, -INFINITY}, {NAN, 1}, {1, 0}});
  EXPECT_EQ(infinite.positive_infinity_count, 1U);
  EXPECT_EQ(infinite.nan_count, 1U);
  EXPECT_EQ(infinite.finite_max, 1.0);
  const std::uint16_t three = FloatToHalf(3.0F);
  const std::uint16_t four = FloatToHalf(4.0F);
  EXPECT_EQ(Double(Compute<std::uint32_t>(DType::kComplex32, {three | (static_cast<std::uint32_t>(four) << 16U)}).max),
            5.0);
}

TEST(Statistics, SumsBeyondTheRangeOfDouble) {
  const Statistics large = Compute<double>(DType::kFloat64, {1e300, 1.0});
  EXPECT_EQ(Double(large.max), 1e300);
  EXPECT_EQ(Double(large.mean), 5e299);
  EXPECT_EQ(Double(large.norm), 1e300);
  const std::vector<double> top(100, std::numeric_limits<double>::max());
  EXPECT_EQ(Double(Compute(DType::kFloat64, top).mean), std::numeric_limits<double>::max());
  EXPECT_EQ(Double(Compute(DType::kFloat64, top).norm), kInfinity) << "the true norm is not representable";
  EXPECT_DOUBLE_EQ(Double(Compute<double>(DType::kFloat64, {3e-200, 4e-200}).norm), 5e-200);
  EXPECT_DOUBLE_EQ(Double(Compute<double>(DType::kFloat64, {3e-320, 4e-320}).norm), 5e-320);
  EXPECT_EQ(Double(Compute<double>(DType::kFloat64, {0.0, 0.0}).norm), 0.0);
}

TEST(Statistics, HalfPrecisionDoesNotOverflow) {
  const std::vector<std::uint16_t> data(10000, FloatToHalf(60000.0F));
  const Statistics statistics = Compute(DType::kFloat16, data);
  EXPECT_EQ(Double(statistics.mean), 60000.0);
  EXPECT_EQ(Double(statistics.norm), 6000000.0);
}

TEST(Statistics, SignOfZeroIsDropped) {
  ForEachTarget([](const std::string& target) {
    const Statistics statistics = Compute<float>(DType::kFloat32, std::vector<float>(33, -0.0F));
    EXPECT_FALSE(std::signbit(Double(statistics.max))) << target;
    EXPECT_FALSE(std::signbit(Double(statistics.min))) << target;
  });
}

TEST(Statistics, AViewEqualsItsContiguousCopy) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> data(300 * 200);
  for (float& value : data) {
    value = normal(random);
  }
  const Shape shape = {200, 300};
  const Shape strides = {1, 200};
  const TensorView transposed = {data.data(), DType::kFloat32, shape, strides};
  std::vector<float> copy(data.size());
  CopyContiguous(transposed, copy.data());
  const Statistics view_statistics = ComputeStatistics(transposed);
  const Statistics copy_statistics = ComputeStatistics({copy.data(), DType::kFloat32, shape, {}});
  ExpectSameBits(Double(view_statistics.mean), Double(copy_statistics.mean), "mean");
  ExpectSameBits(Double(view_statistics.norm), Double(copy_statistics.norm), "norm");
  EXPECT_EQ(view_statistics.max, copy_statistics.max);
}

TEST(Statistics, UnalignedData) {
  std::vector<std::byte> bytes(4 * 40 + 1);
  std::vector<float> values(40);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i);
  }
  std::memcpy(bytes.data() + 1, values.data(), 160);
  const std::int64_t shape[] = {40};
  EXPECT_EQ(Double(ComputeStatistics({bytes.data() + 1, DType::kFloat32, shape, {}}).max), 39.0);
}

}  // namespace
}  // namespace msprobe
