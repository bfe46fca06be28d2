#include "numerics/error_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
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

struct Limits {
  double small_value;
  double absolute_tolerance;
  double relative_tolerance;
  double epsilon_of_own;  // 0: that of the bench
  int smallest_exponent;
  int mantissa_bits;
  double ulp_threshold;
};

Limits LimitsOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {1e-3, 1e-5, 1e-3, 0, -14, 10, 1};
    case DType::kBFloat16:
      return {1e-3, 1e-5, 4e-3, 0x1p-8, -126, 7, 1};
    default:
      return {1e-6, 1e-9, 1e-6, 0, -126, 23, 32};
  }
}

MetricRequest FullRequest(DType dtype) {
  const Limits limits = LimitsOf(dtype);
  MetricRequest request;
  request.benchmark = request.absolute_threshold = request.ulp = request.binary = true;
  request.small_value = limits.small_value;
  request.small_value_absolute_tolerance = limits.absolute_tolerance;
  request.relative_tolerance = limits.relative_tolerance;
  return request;
}

std::vector<double> ToDouble(DType dtype, const std::vector<std::byte>& data) {
  std::vector<double> values(data.size() / ItemSize(dtype));
  ConvertToDouble(dtype, data.data(), static_cast<std::int64_t>(values.size()), values.data());
  return values;
}

// The formulas of precision_metrics.md as they stand, over finite inputs.
struct Reference {
  double max_error = 0, cosine = 0, hundredth = 0, thousandth = 0, ten_thousandth = 0;
  double small_share = 0, max_relative = 0, mean_relative = 0, rmse = 0, balance = 0;
  double relative_rate = 0, absolute_rate = 0, max_ulp = 0, mean_ulp = 0, ulp_share = 0, binary = 0;

  Reference(DType dtype, DType bench_dtype, const std::vector<double>& d, const std::vector<double>& b) {
    const Limits limits = LimitsOf(dtype);
    const double bench_epsilon = bench_dtype == DType::kFloat32 ? 0x1p-23 : 0x1p-52;
    const double epsilon = limits.epsilon_of_own != 0 ? limits.epsilon_of_own : bench_epsilon;
    const auto n = static_cast<double>(d.size());
    double dot = 0, dd = 0, bb = 0, squares = 0, larger = 0, small = 0, normal = 0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double error = std::fabs(d[i] - b[i]);
      const double relative = error / (std::fabs(b[i]) + epsilon);
      max_error = std::max(max_error, error);
      dot += d[i] * b[i];
      dd += d[i] * d[i];
      bb += b[i] * b[i];
      hundredth += relative < 0.01 ? 1 : 0;
      thousandth += relative < 0.001 ? 1 : 0;
      ten_thousandth += relative < 0.0001 ? 1 : 0;
      if (std::fabs(b[i]) <= limits.small_value) {
        small += 1;
        small_share += error > limits.absolute_tolerance ? 1 : 0;
      } else {
        normal += 1;
        max_relative = std::max(max_relative, relative);
        mean_relative += relative;
        relative_rate += relative > limits.relative_tolerance ? 1 : 0;
        squares += error * error;
      }
      const double cast = dtype == DType::kFloat16
                              ? static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(b[i]))))
                              : static_cast<double>(static_cast<float>(b[i]));
      larger += d[i] > cast ? 1 : (d[i] < cast ? -1 : 0);
      const int exponent =
          std::max(b[i] == 0 ? 0 : static_cast<int>(std::floor(std::log2(std::fabs(b[i])))), limits.smallest_exponent);
      const double ulp = error * std::exp2(limits.mantissa_bits - exponent);
      max_ulp = std::max(max_ulp, ulp);
      mean_ulp += ulp / n;
      ulp_share += ulp > limits.ulp_threshold ? 1 / n : 0;
      binary += d[i] != b[i] ? 1 / n : 0;
    }
    cosine = dot / std::sqrt(dd * bb);
    hundredth /= n;
    thousandth /= n;
    ten_thousandth /= n;
    absolute_rate = small_share = small_share / small;
    relative_rate /= normal;
    mean_relative /= normal;
    const double masked = n - normal;
    rmse = std::sqrt(squares / n * (n / (n - masked + 0.0001) + 0.0001));
    balance = std::fabs(larger) / n;
  }
};

struct Pair {
  std::vector<std::byte> device;
  std::vector<std::byte> bench;
};

// Values over many magnitudes, the device a few units in the last place off.
Pair MakePair(DType device_dtype, DType bench_dtype, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> bench(count);
  std::vector<double> device(count);
  for (std::size_t i = 0; i < count; ++i) {
    bench[i] = normal(random) * std::exp2(static_cast<double>(random() % 40) - 30);
    if (random() % 50 == 0) {
      bench[i] = 0;
    }
    const double scale = device_dtype == DType::kFloat32 ? 1e-6 : 1e-2;
    device[i] = bench[i] * (1 + scale * normal(random)) + (random() % 20 == 0 ? 1e-4 : 0);
  }
  Pair pair{std::vector<std::byte>(count * ItemSize(device_dtype)),
            std::vector<std::byte>(count * ItemSize(bench_dtype))};
  ConvertFromDouble(device.data(), static_cast<std::int64_t>(count), device_dtype, pair.device.data());
  ConvertFromDouble(bench.data(), static_cast<std::int64_t>(count), bench_dtype, pair.bench.data());
  return pair;
}

void ExpectClose(double actual, double expected, const char* what) {
  EXPECT_NEAR(actual, expected, 1e-11 * std::max(std::fabs(expected), 1e-3)) << what;
}

TEST(ErrorMetrics, AgreesWithTheFormulasOnEveryTarget) {
  const std::pair<DType, DType> dtypes[] = {
      {DType::kFloat32, DType::kFloat64}, {DType::kFloat32, DType::kFloat32},  {DType::kFloat16, DType::kFloat32},
      {DType::kFloat16, DType::kFloat64}, {DType::kBFloat16, DType::kFloat32},
  };
  for (const auto& [device_dtype, bench_dtype] : dtypes) {
    for (const std::size_t count : {40U, 1000U, 1024U, 1029U, 20011U}) {
      const Pair pair = MakePair(device_dtype, bench_dtype, count, static_cast<std::uint32_t>(count));
      const Reference expected(device_dtype, bench_dtype, ToDouble(device_dtype, pair.device),
                               ToDouble(bench_dtype, pair.bench));
      const Shape shape = {static_cast<std::int64_t>(count)};
      std::vector<ErrorMetrics> results;
      ForEachTarget([&](const std::string& target) {
        SCOPED_TRACE(target + " " + std::string(ShortName(device_dtype)) + " " + std::to_string(count));
        const ErrorMetrics actual =
            ComputeErrorMetrics({pair.device.data(), device_dtype, shape, {}},
                                {pair.bench.data(), bench_dtype, shape, {}}, FullRequest(device_dtype));
        EXPECT_EQ(actual.count, count);
        EXPECT_EQ(actual.finite_count, count);
        EXPECT_EQ(actual.mismatch_count, 0U);
        EXPECT_EQ(actual.max_absolute_error, expected.max_error);
        EXPECT_EQ(std::fabs(actual.max_absolute_error_device - actual.max_absolute_error_bench), expected.max_error);
        ExpectClose(actual.cosine, expected.cosine, "cosine");
        ExpectClose(actual.share_hundredth, expected.hundredth, "hundredth");
        ExpectClose(actual.share_thousandth, expected.thousandth, "thousandth");
        ExpectClose(actual.share_ten_thousandth, expected.ten_thousandth, "ten thousandth");
        ExpectClose(actual.small_value_error_share.value(), expected.small_share, "small share");
        ExpectClose(actual.max_relative_error.value(), expected.max_relative, "max relative");
        ExpectClose(actual.mean_relative_error.value(), expected.mean_relative, "mean relative");
        ExpectClose(actual.root_mean_square_error, expected.rmse, "root mean square");
        ExpectClose(actual.error_balance, expected.balance, "balance");
        ExpectClose(actual.relative_error_rate.value(), expected.relative_rate, "relative rate");
        ExpectClose(actual.absolute_error_rate.value(), expected.absolute_rate, "absolute rate");
        EXPECT_FALSE(actual.non_finite_error_rate.has_value());
        ExpectClose(actual.max_ulp_error, expected.max_ulp, "max ulp");
        ExpectClose(actual.mean_ulp_error, expected.mean_ulp, "mean ulp");
        ExpectClose(actual.ulp_over_threshold_share, expected.ulp_share, "ulp share");
        ExpectClose(actual.binary_mismatch_rate, expected.binary, "binary");
        results.push_back(actual);
      });
      for (const ErrorMetrics& result : results) {  // bit for bit
        const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
        EXPECT_EQ(bits(result.cosine), bits(results[0].cosine));
        EXPECT_EQ(bits(result.mean_relative_error.value()), bits(results[0].mean_relative_error.value()));
        EXPECT_EQ(bits(result.root_mean_square_error), bits(results[0].root_mean_square_error));
        EXPECT_EQ(bits(result.mean_ulp_error), bits(results[0].mean_ulp_error));
      }
    }
  }
}

TEST(ErrorMetrics, LayoutDoesNotMatter) {
  const Pair pair = MakePair(DType::kFloat32, DType::kFloat64, 600 * 700, 5);
  const Shape shape = {700, 600};
  const Shape transposed = {1, 700};
  std::vector<std::byte> device_copy(pair.device.size());
  std::vector<std::byte> bench_copy(pair.bench.size());
  CopyContiguous({pair.device.data(), DType::kFloat32, shape, transposed}, device_copy.data());
  CopyContiguous({pair.bench.data(), DType::kFloat64, shape, transposed}, bench_copy.data());
  const MetricRequest request = FullRequest(DType::kFloat32);
  const ErrorMetrics expected = ComputeErrorMetrics({device_copy.data(), DType::kFloat32, shape, {}},
                                                    {bench_copy.data(), DType::kFloat64, shape, {}}, request);
  const ErrorMetrics mixed = ComputeErrorMetrics({pair.device.data(), DType::kFloat32, shape, transposed},
                                                 {bench_copy.data(), DType::kFloat64, shape, {}}, request);
  EXPECT_EQ(mixed.cosine, expected.cosine);
  EXPECT_EQ(mixed.max_absolute_error_index, expected.max_absolute_error_index);
  EXPECT_EQ(mixed.root_mean_square_error, expected.root_mean_square_error);
  EXPECT_EQ(mixed.mean_ulp_error, expected.mean_ulp_error);
  EXPECT_GT(mixed.cosine, 0.999);
}

TEST(ErrorMetrics, FindsTheFirstMaximumAndMismatchBeyondTheFirstChunk) {
  std::vector<float> bench(5000, 1.0F);
  std::vector<float> device = bench;
  device[3100] = 3.0F;
  device[4100] = 3.0F;
  device[2500] = NAN;
  device[2600] = INFINITY;
  const Shape shape = {5000};
  ForEachTarget([&](const std::string& target) {
    const ErrorMetrics metrics = ComputeErrorMetrics({device.data(), DType::kFloat32, shape, {}},
                                                     {bench.data(), DType::kFloat32, shape, {}}, {});
    EXPECT_EQ(metrics.max_absolute_error, 2.0) << target;
    EXPECT_EQ(metrics.max_absolute_error_index, 3100) << target;
    EXPECT_EQ(metrics.mismatch_count, 2U) << target;
    EXPECT_EQ(metrics.first_mismatch, 2500) << target;
    EXPECT_TRUE(std::isnan(metrics.first_mismatch_device)) << target;
    EXPECT_EQ(metrics.first_mismatch_bench, 1.0) << target;
    EXPECT_EQ(metrics.finite_count, 4998U) << target;
    EXPECT_EQ(metrics.share_hundredth, 4996.0 / 4998.0) << target;
  });
}

TEST(ErrorMetrics, AComparisonWithItselfIsPerfectInEveryDType) {
  std::mt19937 random(11);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::int64_t count = 3000;
    std::vector<std::byte> data(static_cast<std::size_t>(count) * ItemSize(dtype));
    for (std::byte& byte : data) {  // NaN and infinities among them
      byte = static_cast<std::byte>(random());
    }
    const Shape shape = {count};
    const TensorView view{data.data(), dtype, shape, {}};
    const ErrorMetrics metrics = ComputeErrorMetrics(view, view, FullRequest(ComponentDType(dtype)));
    EXPECT_EQ(metrics.mismatch_count, 0U) << ShortName(dtype);
    EXPECT_EQ(metrics.max_absolute_error, 0.0) << ShortName(dtype);
    EXPECT_EQ(metrics.error_balance, 0.0) << ShortName(dtype);
    if (IsFloating(dtype)) {
      EXPECT_NEAR(metrics.cosine, 1.0, 1e-15) << ShortName(dtype);
      EXPECT_EQ(metrics.share_ten_thousandth, 1.0) << ShortName(dtype);
    }
  }
}

TEST(ErrorMetrics, EmptyTensors) {
  const Shape shape = {3, 0};
  for (const DType dtype : {DType::kFloat32, DType::kInt64, DType::kComplex64, DType::kBool}) {
    const TensorView view{nullptr, dtype, shape, {}};
    const ErrorMetrics metrics = ComputeErrorMetrics(view, view, FullRequest(dtype));
    EXPECT_EQ(metrics.count, 0U);
    EXPECT_EQ(metrics.max_absolute_error_index, -1);
    EXPECT_EQ(ZeroShare(view), 0.0);
  }
}

template <typename T, typename U>
double Rate(DType device_dtype, const std::vector<T>& device, DType bench_dtype, const std::vector<U>& bench) {
  const Shape shape = {static_cast<std::int64_t>(device.size())};
  return BinaryMismatchRate({device.data(), device_dtype, shape, {}}, {bench.data(), bench_dtype, shape, {}});
}

TEST(BinaryMismatchRate, ComparesValuesOfAnyIntegerDTypes) {
  using I64 = std::vector<std::int64_t>;
  using U64 = std::vector<std::uint64_t>;
  constexpr auto kTop = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(Rate(DType::kInt64, I64{1, 2, 3, 4}, DType::kInt64, I64{1, 2, 3, 4}), 0.0);
  EXPECT_EQ(Rate(DType::kInt64, I64{(1LL << 53) + 1}, DType::kInt64, I64{1LL << 53}), 1.0) << "not through double";
  EXPECT_EQ(Rate(DType::kInt64, I64{-1, 5}, DType::kUint64, U64{kTop, 5}), 0.5);
  EXPECT_EQ(Rate(DType::kUint64, U64{kTop}, DType::kUint64, U64{kTop}), 0.0);
  EXPECT_EQ(Rate(DType::kInt8, std::vector<std::int8_t>{-1, 7}, DType::kUint8, std::vector<std::uint8_t>{255, 7}), 0.5);
  EXPECT_EQ(Rate(DType::kBool, std::vector<std::uint8_t>{1, 0}, DType::kUint8, std::vector<std::uint8_t>{1, 0}), 0.0);
  EXPECT_EQ(Rate(DType::kUint16, std::vector<std::uint16_t>{65535}, DType::kInt32, std::vector<std::int32_t>{65535}),
            0.0);
  EXPECT_EQ(Rate(DType::kUint32, std::vector<std::uint32_t>{4294967295U}, DType::kInt32, std::vector<std::int32_t>{-1}),
            1.0);
}

TEST(ErrorMetrics, LargestIntegerDifferences) {
  const std::int64_t device[] = {std::numeric_limits<std::int64_t>::min(), 1};
  const std::uint64_t bench[] = {std::numeric_limits<std::uint64_t>::max(), 4};
  const Shape shape = {2};
  const ErrorMetrics metrics =
      ComputeErrorMetrics({device, DType::kInt64, shape, {}}, {bench, DType::kUint64, shape, {}}, {});
  EXPECT_EQ(metrics.binary_mismatch_rate, 1.0);
  EXPECT_EQ(metrics.max_absolute_error, 0x1p64 + 0x1p63);
  EXPECT_EQ(metrics.max_absolute_error_index, 0);
  EXPECT_EQ(metrics.max_absolute_error_device, -0x1p63);
}

TEST(ZeroShare, CountsZeros) {
  const float values[] = {0.0F, -0.0F, 1.0F, NAN};
  const Shape shape = {4};
  EXPECT_EQ(ZeroShare({values, DType::kFloat32, shape, {}}), 0.5);
  const std::int64_t integers[] = {0, 1, 2, 3};
  EXPECT_EQ(ZeroShare({integers, DType::kInt64, shape, {}}), 0.25);
  const float complex[] = {0, 0, 0, 1, 1, 0, 0, 0};
  EXPECT_EQ(ZeroShare({complex, DType::kComplex64, shape, {}}), 0.5);
  std::vector<std::uint16_t> many(10000, 0);
  std::fill(many.begin(), many.begin() + 2500, std::uint16_t{0x3C00});
  const Shape many_shape = {100, 100};
  const Shape strides = {1, 100};
  EXPECT_EQ(ZeroShare({many.data(), DType::kFloat16, many_shape, strides}), 0.75);
}

}  // namespace
}  // namespace msprobe
