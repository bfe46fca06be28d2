#include "replay/random_range.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <variant>

namespace msprobe {
namespace {

// A recorded extreme as floating point and as integer. The integer keeps its digits beyond 2^53, and the bits of an
// unsigned one beyond 2^63.
struct Extreme {
  double number = 0;
  std::int64_t integer = 0;
};

std::int64_t SaturateToInteger(double value) {
  if (std::isnan(value)) return 0;
  // 2^63 is the first double beyond the range.
  if (value >= 9223372036854775808.0) return std::numeric_limits<std::int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

std::optional<Extreme> ToExtreme(const std::optional<StatisticValue>& value) {
  if (!value.has_value()) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&*value)) return Extreme{*flag ? 1.0 : 0.0, *flag ? 1 : 0};
  if (const auto* number = std::get_if<std::int64_t>(&*value)) return Extreme{static_cast<double>(*number), *number};
  if (const auto* number = std::get_if<std::uint64_t>(&*value)) {
    return Extreme{static_cast<double>(*number), static_cast<std::int64_t>(*number)};
  }
  if (const auto* number = std::get_if<double>(&*value)) return Extreme{*number, SaturateToInteger(*number)};
  return std::nullopt;
}

}  // namespace

Result<RandomRange> PlanRandomRange(const TensorElement& tensor, bool has_elements) {
  RandomRange range;
  if (!has_elements) return range;
  // The true extreme, infinity and NaN included, and the extreme of the finite values.
  const auto true_high = ToExtreme(tensor.origin_max.has_value() ? tensor.origin_max : tensor.max);
  const auto true_low = ToExtreme(tensor.origin_min.has_value() ? tensor.origin_min : tensor.min);
  const auto high = ToExtreme(tensor.finite_max.has_value() ? tensor.finite_max : tensor.max);
  const auto low = ToExtreme(tensor.finite_min.has_value() ? tensor.finite_min : tensor.min);
  if (!high || !low || !true_high || !true_low) {
    return Error{ErrorCode::kInput, "the record holds no maximum and minimum to make random values from"};
  }

  range.low = low->number;
  range.high = high->number;
  range.low_is_nan = std::isnan(true_low->number);
  range.high_is_nan = std::isnan(true_high->number);
  range.contains_nan = (range.low_is_nan || range.high_is_nan) && !std::isnan(range.low) && !std::isnan(range.high);
  const bool has_companion = tensor.origin_max.has_value() || tensor.finite_max.has_value() ||
                             tensor.origin_min.has_value() || tensor.finite_min.has_value();
  range.nothing_finite = has_companion && std::isinf(range.low) && std::isinf(range.high);
  range.has_positive_infinity = std::isinf(true_high->number) && true_high->number > 0;
  range.has_negative_infinity = std::isinf(true_low->number) && true_low->number < 0;
  range.integer_low = low->integer;
  range.integer_high = high->integer;
  return range;
}

}  // namespace msprobe
