#include "numerics/reductions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace msprobe {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a device would reduce `values` to.
FloatingReductions Reduce(const std::vector<double>& values, bool scaled) {
  FloatingReductions r{-kInfinity, kInfinity, -kInfinity, kInfinity, -kInfinity, kInfinity, 0, 0, std::nullopt};
  double squares = 0;
  double sum_down = 0;
  double squares_down = 0;
  double squares_up = 0;
  for (const double value : values) {
    r.max = std::isnan(value) ? kNan : (std::isnan(r.max) ? kNan : std::max(r.max, value));
    r.min = std::isnan(value) ? kNan : (std::isnan(r.min) ? kNan : std::min(r.min, value));
    if (std::isfinite(value)) {
      r.finite_max = std::max(r.finite_max, value);
      r.finite_min = std::min(r.finite_min, value);
    }
    r.known_max = std::max(r.known_max, std::isnan(value) ? 0.0 : value);
    r.known_min = std::min(r.known_min, std::isnan(value) ? 0.0 : value);
    r.sum += value;
    squares += value * value;
    sum_down += value * 0x1p-600;
    squares_down += (value * 0x1p-600) * (value * 0x1p-600);
    squares_up += (value * 0x1p600) * (value * 0x1p600);
  }
  r.norm = std::sqrt(squares);
  if (scaled) {
    r.scaled = FloatingReductions::Scaled{sum_down, std::sqrt(squares_down), std::sqrt(squares_up)};
  }
  return r;
}

void ExpectEqual(const StatisticValue& actual, const StatisticValue& expected) {
  const double* a = std::get_if<double>(&actual);
  const double* b = std::get_if<double>(&expected);
  if (a == nullptr || b == nullptr) {
    EXPECT_EQ(actual, expected);
  } else if (std::isnan(*b)) {
    EXPECT_TRUE(std::isnan(*a)) << *a;
  } else {
    EXPECT_DOUBLE_EQ(*a, *b);
  }
}

void ExpectEqual(const Statistics& actual, const Statistics& expected) {
  ExpectEqual(actual.max, expected.max);
  ExpectEqual(actual.min, expected.min);
  ExpectEqual(actual.mean, expected.mean);
  ExpectEqual(actual.norm, expected.norm);
  ExpectEqual(actual.finite_max, expected.finite_max);
  ExpectEqual(actual.finite_min, expected.finite_min);
  EXPECT_EQ(actual.element_count, expected.element_count);
}

TEST(Reductions, EqualTheStatisticsOfTheSameElements) {
  const double largest = std::numeric_limits<double>::max();
  const std::vector<std::vector<double>> cases = {
      {1, -2, 3},
      {-0.0, -0.0},
      {kNan, 1, -1},
      {kInfinity, 1},
      {-kInfinity, 1, 2},
      {kInfinity, -kInfinity, 5},
      {kNan, kNan},
      {kInfinity, kInfinity},
      {-kInfinity, -kInfinity},
      {kNan, kInfinity},
      {kNan, -kInfinity},
      {kNan, kInfinity, -kInfinity},
      {1e300, 1.0},
      {largest, largest, -largest},
      {-largest, -largest},
      {1e-300, 2e-300},
      {0, 0, 0},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const std::int64_t shape[] = {static_cast<std::int64_t>(cases[i].size())};
    ExpectEqual(StatisticsOf(Reduce(cases[i], true), cases[i].size()),
                ComputeStatistics(TensorView{cases[i].data(), DType::kFloat64, shape, {}}));
  }
}

TEST(Reductions, IntegersKeepTheirDigits) {
  const Statistics statistics = StatisticsOf(std::int64_t{9007199254740993}, std::int64_t{-3}, 6.0, 5.0, 4);
  EXPECT_EQ(statistics.max, StatisticValue(std::int64_t{9007199254740993}));
  EXPECT_EQ(statistics.min, StatisticValue(std::int64_t{-3}));
  EXPECT_EQ(statistics.mean, StatisticValue(1.5));
  EXPECT_EQ(statistics.norm, StatisticValue(5.0));
}

TEST(Reductions, AValueStandsFourTimes) {
  for (const StatisticValue& value : {StatisticValue(std::int64_t{-7}), StatisticValue(2.5), StatisticValue(-kInfinity),
                                      StatisticValue(std::uint64_t{1} << 63U)}) {
    const Statistics statistics = StatisticsOfValue(value);
    EXPECT_EQ(statistics.max, value);
    EXPECT_EQ(statistics.min, value);
    EXPECT_EQ(statistics.mean, value);
    EXPECT_EQ(statistics.norm, value);
  }
  EXPECT_TRUE(std::isnan(StatisticsOfValue(kNan).finite_max));
  EXPECT_EQ(StatisticsOfValue(-kInfinity).finite_max, -kInfinity);
  EXPECT_EQ(StatisticsOfValue(true).max, StatisticValue(true));
  EXPECT_EQ(StatisticsOfValue(true).mean, StatisticValue());
}

TEST(Reductions, BoolsHaveNoMean) {
  const Statistics statistics = StatisticsOfBools(true, false, 2);
  EXPECT_EQ(statistics.max, StatisticValue(true));
  EXPECT_EQ(statistics.min, StatisticValue(false));
  EXPECT_EQ(statistics.mean, StatisticValue());
  EXPECT_EQ(statistics.norm, StatisticValue());
}

}  // namespace
}  // namespace msprobe
