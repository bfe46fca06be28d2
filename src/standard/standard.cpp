#include "standard/standard.h"

#include <algorithm>
#include <array>

#include "standard/api_lists.h"

namespace msprobe {
namespace {

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::binary_search(names.begin(), names.end(), name);
}

/// precision_standards.md 4.2: a row for a single API stands before the rows for all ("").
struct LimitsRow {
  std::string_view api;
  DType dtype;
  Limits limits;
};
constexpr std::array<LimitsRow, 3> kLimits = {{
    {"", DType::kFloat16, {.small_value = 1e-3, .small_value_absolute_tolerance = 1e-5, .relative_tolerance = 1e-3}},
    {"", DType::kBFloat16, {.small_value = 1e-3, .small_value_absolute_tolerance = 1e-5, .relative_tolerance = 4e-3}},
    {"", DType::kFloat32, {.small_value = 1e-6, .small_value_absolute_tolerance = 1e-9, .relative_tolerance = 1e-6}},
}};

/// fp8 is judged as float16 (precision_metrics.md 8.3).
DType JudgedAs(DType dtype) { return IsFloat8(dtype) ? DType::kFloat16 : dtype; }

}  // namespace

std::string_view AlgorithmTitle(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kBenchmark:
      return "标杆比对法";
    case Algorithm::kAbsoluteThreshold:
      return "绝对阈值法";
    case Algorithm::kBinary:
      return "二进制一致法";
    case Algorithm::kUlp:
      return "ULP误差比对法";
    case Algorithm::kThousandth:
      return "双千指标法";
  }
  return {};
}

bool InAbsoluteThresholdList(std::string_view api) { return Contains(kAbsoluteThresholdApis, api); }
bool InBinaryList(std::string_view api) { return Contains(kBinaryApis, api); }
bool InUlpList(std::string_view api) { return Contains(kUlpApis, api); }
bool InThousandthList(std::string_view api) { return Contains(kThousandthApis, api); }

std::optional<Limits> LimitsFor(std::string_view api, DType dtype) {
  for (const LimitsRow& row : kLimits) {
    if (row.dtype == JudgedAs(dtype) && (row.api.empty() || row.api == api)) return row.limits;
  }
  return std::nullopt;
}

std::optional<Algorithm> ChooseAlgorithm(std::string_view api, std::string_view device_dtype_text) {
  const std::optional<DType> dtype = ParseDType(device_dtype_text);
  // Table of 4 with (ii) 2 and 3: float64 and complex outputs are outside the standard, whatever the API.
  if (dtype && (*dtype == DType::kFloat64 || IsComplex(*dtype))) return std::nullopt;
  if (InThousandthList(api)) return Algorithm::kThousandth;
  if (!dtype || !IsFloating(*dtype) || InBinaryList(api)) return Algorithm::kBinary;
  if (InAbsoluteThresholdList(api)) return Algorithm::kAbsoluteThreshold;
  if (InUlpList(api)) return Algorithm::kUlp;
  return Algorithm::kBenchmark;
}

}  // namespace msprobe
