#include "compare/judge.h"

#include <algorithm>
#include <span>

#include "base/csv.h"
#include "base/format.h"
#include "base/text.h"
#include "compare/rules.h"

namespace msprobe {
namespace {

std::string FirstLine(std::string_view text) {
  text = Trim(text);
  return Excerpt(text.substr(0, text.find_first_of("\r\n")), 200);
}

bool AnyMissing(const Measurements& row, std::span<const Metric> metrics) {
  // Really empty cells are NaN beside cells with content, but a group that is empty throughout was not computed.
  const bool all_missing = std::all_of(metrics.begin(), metrics.end(), [&](Metric m) { return row[m].IsMissing(); });
  return !metrics.empty() && (all_missing || std::any_of(metrics.begin(), metrics.end(),
                                                         [&](Metric m) { return row[m].kind == CellKind::kBlank; }));
}

bool AllFilled(const Measurements& row, Algorithm algorithm) {
  const std::span<const Metric> metrics = RequiredMetrics(algorithm);
  return std::all_of(metrics.begin(), metrics.end(), [&](Metric m) { return row[m].kind == CellKind::kNumber; });
}

// The first cell of the group that is no number, or nothing.
std::optional<Metric> FirstText(const Measurements& row, std::span<const Metric> metrics) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](Metric m) { return row[m].kind == CellKind::kText; });
  return found == metrics.end() ? std::nullopt : std::optional<Metric>(*found);
}

void Skip(Judgement& judgement, const std::string& message) {
  judgement.verdict = Verdict::kSkip;
  judgement.algorithm.reset();
  judgement.reason = FirstLine(message);
  judgement.message = message;
}

// The checker failed before it had metrics: its error holds here too (precision_standards.md (ii) 6), softened where
// the benchmark's row failed in the same way (decisions 39).
void CarryErrorOver(const MeasuredRow& device, const Measurements& benchmark, bool benchmark_has_none,
                    const JudgeSettings& settings, Judgement& judgement) {
  judgement.algorithm.reset();
  const bool softened = !settings.documented_only && benchmark.status == Verdict::kError && benchmark_has_none;
  judgement.verdict = softened ? Verdict::kWarning : Verdict::kError;
  std::string text = "the checker found an error and has no metrics for this row";
  const std::string cause = FirstLine(device.message);
  if (!cause.empty()) text += ": " + cause;
  if (softened) text += "; softened: so it did on the GPU";
  AddReason(judgement, judgement.verdict, text);
}

void Judge(std::string_view api, const MeasuredRow& device, const Measurements& benchmark,
           const JudgeSettings& settings, Judgement& judgement) {
  if (!device.damage.empty()) return Skip(judgement, device.damage);
  const bool failed = device.measurements.status == Verdict::kError;
  if (device.dtype.empty()) {
    if (!failed) return Skip(judgement, device.message);
    return CarryErrorOver(device, benchmark, true, settings, judgement);
  }
  std::optional<Algorithm> algorithm = ChooseAlgorithm(api, device.dtype);
  if (!algorithm) {
    judgement.unsupported_dtype = true;
    return Skip(judgement, fmt::format("the precision standard does not cover {}", Excerpt(device.dtype, 60)));
  }
  const bool device_missing = AnyMissing(device.measurements, RequiredMetrics(*algorithm));
  const bool benchmark_missing = AnyMissing(benchmark, RequiredBenchmarkMetrics(*algorithm));
  const std::optional<DType> dtype = ParseDType(device.dtype);
  if ((device_missing || benchmark_missing) && *algorithm != Algorithm::kBenchmark && dtype && IsFloating(*dtype) &&
      AllFilled(device.measurements, Algorithm::kBenchmark) && AllFilled(benchmark, Algorithm::kBenchmark)) {
    // Files of the newer tool hold the benchmark's metrics only (decisions 38).
    judgement.message += fmt::format("note: judged by {} because the file has no values for {}\n",
                                     AlgorithmTitle(Algorithm::kBenchmark), AlgorithmTitle(*algorithm));
    algorithm = Algorithm::kBenchmark;
  } else if (device_missing) {
    if (failed) {
      return CarryErrorOver(device, benchmark, AnyMissing(benchmark, RequiredMetrics(*algorithm)), settings, judgement);
    }
    const std::string cause = std::string(Trim(device.message));
    return Skip(judgement, cause.empty() ? "the metrics of this row are blank" : cause);
  } else if (benchmark_missing) {
    return Skip(judgement, "the metrics of this row are blank in the GPU's file");
  }
  if (const std::optional<Metric> text = FirstText(device.measurements, RequiredMetrics(*algorithm))) {
    return Skip(judgement,
                fmt::format("{} is \"{}\", not a number", MetricHeading(*text), Excerpt(device.Text(*text), 60)));
  }
  if (const std::optional<Metric> text = FirstText(benchmark, RequiredBenchmarkMetrics(*algorithm))) {
    return Skip(judgement, fmt::format("{} is not a number in the GPU's file", MetricHeading(*text)));
  }
  judgement.algorithm = algorithm;
  ApplyRule(*algorithm, {api, device, benchmark, dtype == DType::kFloat32, settings}, judgement);
}

void FinishCells(std::string_view name, Judgement& judgement) {
  judgement[DetailsColumn::kApiName] = name;
  judgement[DetailsColumn::kVerdict] = VerdictWord(judgement.verdict);
  if (judgement.algorithm) judgement[DetailsColumn::kAlgorithm] = AlgorithmTitle(*judgement.algorithm);
  judgement[DetailsColumn::kMessage] = judgement.message;
}

}  // namespace

Judgement JudgeRow(std::string_view api, const MeasuredRow& device, const Measurements& benchmark,
                   const JudgeSettings& settings) {
  Judgement judgement;
  judgement.cells.fill(std::string(kBlankCell));
  Judge(api, device, benchmark, settings, judgement);
  FinishCells(device.name, judgement);
  return judgement;
}

Judgement SkipRow(std::string_view name, const std::string& message) {
  Judgement judgement;
  judgement.cells.fill(std::string(kBlankCell));
  Skip(judgement, message);
  FinishCells(name, judgement);
  return judgement;
}

}  // namespace msprobe
