#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/dtype.h"

namespace msprobe {

/// The five algorithms of the precision standard (precision_standards.md 4). Used by the checker to choose the metric
/// group and by the comparison to judge.
enum class Algorithm : std::uint8_t { kBenchmark, kAbsoluteThreshold, kBinary, kUlp, kThousandth };

/// Heading written into the column 比对算法.
std::string_view AlgorithmTitle(Algorithm algorithm);

bool InAbsoluteThresholdList(std::string_view api);
bool InBinaryList(std::string_view api);
bool InUlpList(std::string_view api);
bool InThousandthList(std::string_view api);

/// Limits of precision_metrics.md section 3 for float16, bfloat16, float32 (fp8 as float16); absent for other dtypes.
struct Limits {
  double small_value;
  double small_value_absolute_tolerance;
  double relative_tolerance;
};
std::optional<Limits> LimitsFor(std::string_view api, DType dtype);

/// precision_standards.md 4, by API name and the text of the device dtype as it stands in the CSV. Absent: dtype not
/// supported.
std::optional<Algorithm> ChooseAlgorithm(std::string_view api, std::string_view device_dtype_text);

}  // namespace msprobe
