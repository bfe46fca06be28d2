#include "replay/tensor_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "standard/standard.h"
#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

// precision_metrics.md 4.1, 5
constexpr double kCosineLimit = 0.99;
constexpr double kMaxAbsoluteErrorLimit = 0.001;
constexpr double kHundredth = 0.01;
constexpr double kThousandth = 0.001;
constexpr double kTenThousandth = 0.0001;
// accuracy_checker.md 11.1
constexpr std::int64_t kDropoutMinElements = 100;
constexpr double kDropoutMaxDifference = 0.1;

enum class Family : std::uint8_t { kFloating, kComplex, kInteger, kBool };

Family FamilyOf(DType dtype) {
  if (IsFloating(dtype)) return Family::kFloating;
  if (IsComplex(dtype)) return Family::kComplex;
  return dtype == DType::kBool ? Family::kBool : Family::kInteger;
}

// bool and uint8 stay one family (precision_metrics.md 8, decision 3).
bool Comparable(DType a, DType b) {
  if (FamilyOf(a) == FamilyOf(b)) return true;
  return (a == DType::kBool && b == DType::kUint8) || (a == DType::kUint8 && b == DType::kBool);
}

DetailsRow Describe(const HostTensor& bench, const HostTensor& device) {
  DetailsRow row;
  row.bench_dtype = TorchName(bench.dtype);
  row.device_dtype = TorchName(device.dtype);
  row.shape = ShapeText(device.shape);
  return row;
}

void Decide(DetailsRow& row, Verdict verdict, std::string message) {
  row.verdict = verdict;
  row.message = row.message.empty() ? std::move(message) : row.message + "; " + message;
}

// The two gates before any metric. True when they end the matter.
bool FailsGates(const HostTensor& bench, const HostTensor& device, DetailsRow& row) {
  if (bench.shape != device.shape) {
    Decide(row, Verdict::kError,
           "shapes differ: bench " + ShapeText(bench.shape) + ", device " + ShapeText(device.shape));
    return true;
  }
  if (!Comparable(bench.dtype, device.dtype)) {
    Decide(row, Verdict::kError,
           "dtypes cannot be compared: bench " + row.bench_dtype + ", device " + row.device_dtype);
    return true;
  }
  return false;
}

// Index of an element as text: "(1, 2)". `flat` counts components for complex tensors.
std::string IndexText(std::int64_t flat, const HostTensor& tensor) {
  flat /= ComponentCount(tensor.dtype);
  std::vector<std::int64_t> index(tensor.shape.size());
  for (std::size_t i = index.size(); i-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(tensor.shape[i], 1);
    index[i] = flat % size;
    flat /= size;
  }
  return ShapeText(index);
}

// One number of a tensor, by flat row-major index.
double ValueAt(const HostTensor& tensor, std::int64_t flat) {
  const int components = ComponentCount(tensor.dtype);
  const std::int64_t part = flat % components;
  flat /= components;
  std::int64_t offset = 0;
  std::int64_t expected = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(tensor.shape[i], 1);
    offset += flat % size * (tensor.strides.empty() ? expected : tensor.strides[i]);
    flat /= size;
    expected *= size;
  }
  const DType component = ComponentDType(tensor.dtype);
  const auto* data = static_cast<const std::byte*>(tensor.data);
  double value = 0;
  ConvertToDouble(component, data + (offset * components + part) * static_cast<std::int64_t>(ItemSize(component)), 1,
                  &value);
  return value;
}

// Where to look first: the element with the largest error.
std::string WorstElement(const ErrorMetrics& metrics, const HostTensor& bench, const HostTensor& device) {
  const std::int64_t index = metrics.max_absolute_error_index;
  if (index < 0) return {};
  return "; largest error at " + IndexText(index, device) + ": bench " + fmt::format("{:.8g}", ValueAt(bench, index)) +
         ", device " + fmt::format("{:.8g}", ValueAt(device, index));
}

std::string ShareText(double share) { return FixedText(100 * share, 2) + " %"; }

// What only the list of an API, or the dtype, decides (precision_metrics.md 4.5, 4.6, decisions 27).
MetricRequest ChooseMetrics(std::string_view api, DType dtype) {
  MetricRequest request;
  const auto limits = LimitsFor(api, dtype);
  if (!limits.has_value() || !IsFloating(dtype)) return request;
  request.benchmark = true;
  request.absolute_threshold = InAbsoluteThresholdList(api);
  request.ulp = InUlpList(api);
  request.binary = InBinaryList(api);
  request.small_value = limits->small_value;
  request.small_value_absolute_tolerance = limits->small_value_absolute_tolerance;
  request.relative_tolerance = limits->relative_tolerance;
  return request;
}

void JudgeIntegers(const HostTensor& bench, const HostTensor& device, DetailsRow& row) {
  const double rate = BinaryMismatchRate(device.view(), bench.view());
  row.mismatch_rate = rate;
  if (rate == 0) return Decide(row, Verdict::kPass, "judged by equality alone: all elements are equal");
  Decide(row, Verdict::kError, "judged by equality alone: " + ShareText(rate) + " of the elements differ");
}

// False when the cosine alone makes the row an error; notes where it says nothing.
bool CosineIsGood(const ErrorMetrics& metrics, DetailsRow& row, std::string& failure) {
  using Cosine = ErrorMetrics::Cosine;
  switch (metrics.cosine_case) {
    case Cosine::kScalar:
      row.message = "one element has no cosine";
      return true;
    case Cosine::kBothZero:
      row.message = "all zero on both sides";
      return true;
    case Cosine::kNothingFinite:
      return true;
    case Cosine::kDeviceZero:
      failure = "the device's values are all zero, the bench's are not";
      return false;
    case Cosine::kBenchZero:
      failure = "the bench's values are all zero, the device's are not";
      return false;
    case Cosine::kValue:
      break;
  }
  row.cosine = metrics.cosine;
  if (metrics.cosine > kCosineLimit) return true;
  failure = "cosine similarity " + FixedText(metrics.cosine, 6) + " is not above 0.99";
  return false;
}

// Steps 4 and 5 of the ladder: the shares of elements within a relative error.
void JudgeShares(const ErrorMetrics& metrics, bool lower_precision, DetailsRow& row) {
  const auto good = [](double share, double limit) { return share > 1 - limit; };
  const auto text = [](double share, const char* limit) {
    return ShareText(share) + " of the elements are within a relative error of " + limit;
  };
  if (lower_precision) {
    row.share_hundredth = metrics.share_hundredth;
    if (!good(metrics.share_hundredth, kHundredth)) {
      return Decide(row, Verdict::kError, "only " + text(metrics.share_hundredth, "0.01"));
    }
    row.share_thousandth = metrics.share_thousandth;
    if (good(metrics.share_thousandth, kThousandth)) {
      return Decide(row, Verdict::kPass, text(metrics.share_thousandth, "0.001"));
    }
    return Decide(row, Verdict::kWarning, "only " + text(metrics.share_thousandth, "0.001"));
  }
  row.share_thousandth = metrics.share_thousandth;
  row.share_ten_thousandth = metrics.share_ten_thousandth;
  if (!good(metrics.share_thousandth, kThousandth)) {
    return Decide(row, Verdict::kError, "only " + text(metrics.share_thousandth, "0.001"));
  }
  if (!good(metrics.share_ten_thousandth, kTenThousandth)) {
    return Decide(row, Verdict::kWarning, "only " + text(metrics.share_ten_thousandth, "0.0001"));
  }
  Decide(row, Verdict::kPass, text(metrics.share_ten_thousandth, "0.0001"));
}

void JudgeFloats(std::string_view api, const HostTensor& bench, const HostTensor& device, DetailsRow& row) {
  const MetricRequest request = ChooseMetrics(api, device.dtype);
  const ErrorMetrics metrics = ComputeErrorMetrics(device.view(), bench.view(), request);
  row.metrics = metrics;
  row.has_benchmark = request.benchmark;
  row.has_absolute_threshold = request.absolute_threshold;
  row.has_ulp = request.ulp;
  if (request.binary) row.mismatch_rate = metrics.binary_mismatch_rate;
  if (InThousandthList(api)) row.share_thousandth = metrics.share_thousandth;

  std::string cosine_failure;
  const bool cosine_is_good = CosineIsGood(metrics, row, cosine_failure);
  if (metrics.mismatch_count > 0) {
    return Decide(row, Verdict::kError,
                  "NaN or infinity on one side only, or of another sign, at " + std::to_string(metrics.mismatch_count) +
                      " of " + std::to_string(metrics.count) + " positions, the first at " +
                      IndexText(metrics.first_mismatch, device));
  }
  if (metrics.finite_count == 0) {
    return Decide(row, Verdict::kPass, "no finite value, and both sides agree in every position");
  }
  if (!cosine_is_good) return Decide(row, Verdict::kError, cosine_failure + WorstElement(metrics, bench, device));
  row.max_absolute_error = metrics.max_absolute_error;
  if (metrics.max_absolute_error < kMaxAbsoluteErrorLimit) {
    return Decide(row, Verdict::kPass, "maximum absolute error is below 0.001");
  }
  const DType component = ComponentDType(device.dtype);
  JudgeShares(metrics, component == DType::kFloat16 || component == DType::kBFloat16 || IsFloat8(component), row);
  if (row.verdict != Verdict::kPass) row.message += WorstElement(metrics, bench, device);
}

}  // namespace

DetailsRow JudgeTensors(std::string_view api, const HostTensor& bench, const HostTensor& device) {
  DetailsRow row = Describe(bench, device);
  if (FailsGates(bench, device, row)) return row;
  if (ElementCount(device.view()) == 0) {
    Decide(row, Verdict::kPass, "empty on both sides");
  } else if (FamilyOf(bench.dtype) == Family::kInteger || FamilyOf(bench.dtype) == Family::kBool) {
    JudgeIntegers(bench, device, row);
  } else {
    JudgeFloats(api, bench, device, row);
  }
  return row;
}

DetailsRow JudgeDropout(const HostTensor& bench, const HostTensor& device) {
  DetailsRow row = Describe(bench, device);
  if (FailsGates(bench, device, row)) return row;
  const std::int64_t count = ElementCount(device.view());
  if (count == 0) {
    Decide(row, Verdict::kPass, "empty on both sides");
    return row;
  }
  const double bench_share = ZeroShare(bench.view());
  const double device_share = ZeroShare(device.view());
  std::string message = "dropout is judged by the share of zeros: bench " + ShareText(bench_share) + ", device " +
                        ShareText(device_share);
  if (count < kDropoutMinElements) {
    Decide(row, Verdict::kPass, message + "; fewer than 100 elements always pass");
  } else {
    const bool close = std::abs(bench_share - device_share) < kDropoutMaxDifference;
    Decide(row, close ? Verdict::kPass : Verdict::kError, std::move(message));
  }
  return row;
}

DetailsRow JudgeByShape(Treatment treatment, const HostTensor& bench, const HostTensor& device) {
  DetailsRow row = Describe(bench, device);
  if (FailsGates(bench, device, row)) return row;
  Decide(row, Verdict::kPass,
         treatment == Treatment::kRandom ? "random values: only dtype and shape are compared"
                                         : "uninitialised values: only dtype and shape are compared");
  return row;
}

}  // namespace msprobe
