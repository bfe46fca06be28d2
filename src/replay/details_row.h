#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/error_metrics.h"
#include "replay/output_value.h"
#include "standard/verdict.h"

namespace msprobe {

/// One row of the details CSV while it is being judged (accuracy_checker.md 11.2).
struct DetailsRow {
  Verdict verdict = Verdict::kSkip;
  std::string message;
  std::string bench_dtype;  ///< empty: blank, as all that follows
  std::string device_dtype;
  std::string shape;
  std::optional<double> cosine;
  std::optional<double> max_absolute_error;
  std::optional<double> share_hundredth;
  std::optional<double> share_thousandth;
  std::optional<double> share_ten_thousandth;
  std::optional<double> mismatch_rate;
  bool builtins_equal = false;  ///< the mismatch rate prints as the integer 0
  /// The columns of these groups are filled from `metrics`.
  bool has_benchmark = false;
  bool has_absolute_threshold = false;
  bool has_ulp = false;
  ErrorMetrics metrics;
};

/// The 23 cells under `name` ("Functional.linear.0.forward.output.0"): floating numbers fixed with `precision`
/// decimals, "no data" as the integer 0, `nan`, `inf`, `-inf`; what is not computed is one blank
/// (accuracy_checker.md 11.3).
std::vector<std::string> DetailsCells(const std::string& name, const DetailsRow& row, int precision);

/// Fixed point; the sign of zero is dropped.
std::string FixedText(double value, int precision);

/// As Python prints a tuple: "()", "(8,)", "(4, 4)".
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace msprobe
