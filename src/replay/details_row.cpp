#include "replay/details_row.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/csv.h"
#include "check/case_rows.h"

namespace msprobe {
namespace {

// Positions of the cells, 0 is the API name.
enum Column : std::size_t {
  kName,
  kBenchDtype,
  kDeviceDtype,
  kShape,
  kCosine,
  kMaxAbsoluteError,
  kShareHundredth,
  kShareThousandth,
  kShareTenThousandth,
  kMismatchRate,
  kErrorBalance,
  kRootMeanSquareError,
  kSmallValueErrorShare,
  kMaxRelativeError,
  kMeanRelativeError,
  kNonFiniteErrorRate,
  kRelativeErrorRate,
  kAbsoluteErrorRate,
  kMaxUlpError,
  kMeanUlpError,
  kUlpOverThreshold,
  kStatus,
  kMessage,
};
static_assert(kMessage + 1 == kDetailsColumns);

}  // namespace

std::string FixedText(double value, int precision) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // 309 digits before the point, a sign, the point, and the decimals.
  std::array<char, 512> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value + 0.0, std::chars_format::fixed, precision);
  std::string text(buffer.data(), end.ptr);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string ShapeText(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() == 1) text += ",";
  return text + ")";
}

std::vector<std::string> DetailsCells(const std::string& name, const DetailsRow& row, int precision) {
  std::vector<std::string> cells(kDetailsColumns, std::string(kBlankCell));
  const auto put = [&](Column column, const std::string& text) {
    if (!text.empty()) cells[column] = text;
  };
  const auto put_number = [&](Column column, std::optional<double> value) {
    if (value.has_value()) cells[column] = FixedText(*value, precision);
  };
  const auto put_or_no_data = [&](Column column, std::optional<double> value) {
    cells[column] = value.has_value() ? FixedText(*value, precision) : "0";
  };
  put(kName, name);
  put(kBenchDtype, row.bench_dtype);
  put(kDeviceDtype, row.device_dtype);
  put(kShape, row.shape);
  put_number(kCosine, row.cosine);
  put_number(kMaxAbsoluteError, row.max_absolute_error);
  put_number(kShareHundredth, row.share_hundredth);
  put_number(kShareThousandth, row.share_thousandth);
  put_number(kShareTenThousandth, row.share_ten_thousandth);
  put_number(kMismatchRate, row.mismatch_rate);
  if (row.builtins_equal) cells[kMismatchRate] = "0";
  const ErrorMetrics& metrics = row.metrics;
  if (row.has_benchmark) {
    put_number(kErrorBalance, metrics.error_balance);
    put_number(kRootMeanSquareError, metrics.root_mean_square_error);
    put_or_no_data(kSmallValueErrorShare, metrics.small_value_error_share);
    put_or_no_data(kMaxRelativeError, metrics.max_relative_error);
    put_or_no_data(kMeanRelativeError, metrics.mean_relative_error);
  }
  if (row.has_absolute_threshold) {
    put_or_no_data(kNonFiniteErrorRate, metrics.non_finite_error_rate);
    put_or_no_data(kRelativeErrorRate, metrics.relative_error_rate);
    put_or_no_data(kAbsoluteErrorRate, metrics.absolute_error_rate);
  }
  if (row.has_ulp) {
    put_number(kMaxUlpError, metrics.max_ulp_error);
    put_number(kMeanUlpError, metrics.mean_ulp_error);
    put_number(kUlpOverThreshold, metrics.ulp_over_threshold_share);
  }
  cells[kStatus] = VerdictWord(row.verdict);
  cells[kMessage] = row.message;  // an empty message is an empty cell, as in the files of the reference
  return cells;
}

}  // namespace msprobe
