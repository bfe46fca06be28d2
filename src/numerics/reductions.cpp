#include "numerics/reductions.h"

#include <cmath>

#include "numerics/extremes.h"

namespace msprobe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Statistics StatisticsOf(const FloatingReductions& reductions, std::uint64_t element_count) {
  const bool has_finite = reductions.finite_max >= reductions.finite_min;
  const Extremes extremes{reductions.finite_max, reductions.finite_min,
                          std::isnan(reductions.max) || std::isnan(reductions.min), reductions.known_max == kInfinity,
                          reductions.known_min == -kInfinity};
  Statistics statistics;
  statistics.element_count = element_count;
  statistics.nan_count = extremes.has_nan ? 1 : 0;
  statistics.positive_infinity_count = extremes.has_positive_infinity ? 1 : 0;
  statistics.negative_infinity_count = extremes.has_negative_infinity ? 1 : 0;
  SetExtremes(extremes, statistics);
  const auto count = static_cast<double>(element_count);
  double mean = reductions.sum / count;
  double norm = reductions.norm;
  const bool all_finite =
      has_finite && !extremes.has_nan && !extremes.has_positive_infinity && !extremes.has_negative_infinity;
  if (reductions.scaled && all_finite) {
    if (!std::isfinite(reductions.sum)) {
      mean = reductions.scaled->sum_down / count * 0x1p600;
    }
    if (!std::isfinite(norm)) {
      norm = reductions.scaled->norm_down * 0x1p600;
    } else if (norm < 0x1p-450) {
      norm = reductions.scaled->norm_up * 0x1p-600;
    }
  }
  statistics.mean = mean;
  statistics.norm = norm;
  return statistics;
}

Statistics StatisticsOf(StatisticValue max, StatisticValue min, double sum, double norm, std::uint64_t element_count) {
  Statistics statistics;
  statistics.element_count = element_count;
  statistics.max = max;
  statistics.min = min;
  statistics.mean = sum / static_cast<double>(element_count);
  statistics.norm = norm;
  return statistics;
}

Statistics StatisticsOfValue(const StatisticValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) {
    return StatisticsOfBools(*truth, *truth, 1);
  }
  const auto of_view = [](const auto& number, DType dtype) {
    return ComputeStatistics(TensorView{&number, dtype, {}, {}});
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return of_view(*integer, DType::kInt64);
  }
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) {
    return of_view(*integer, DType::kUint64);
  }
  return of_view(std::get<double>(value), DType::kFloat64);
}

Statistics StatisticsOfBools(bool any, bool all, std::uint64_t element_count) {
  Statistics statistics;
  statistics.element_count = element_count;
  statistics.max = any;
  statistics.min = all;
  return statistics;
}

}  // namespace msprobe
