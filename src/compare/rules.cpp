#include "compare/rules.h"

#include <array>
#include <cmath>

#include "base/format.h"
#include "compare/ratio.h"

namespace msprobe {
namespace {

constexpr std::array kBenchmarkMetrics = {Metric::kSmallValueShare, Metric::kRootMeanSquareError,
                                          Metric::kMaxRelativeError, Metric::kMeanRelativeError, Metric::kErrorBalance};
constexpr std::array kAbsoluteMetrics = {Metric::kInfNanMismatch, Metric::kRelativeErrorRate,
                                         Metric::kAbsoluteErrorRate};
constexpr std::array kBinaryMetrics = {Metric::kBinaryMismatch};
constexpr std::array kUlpMetrics = {Metric::kUlpMean, Metric::kUlpShare};
constexpr std::array kThousandthMetrics = {Metric::kThousandth};

constexpr double kThousandthLimit = 0.999;
constexpr double kUlpHalfShareLimit = 0.001;
constexpr double kUlpSingleMeanLimit = 64.0;
constexpr double kUlpSingleShareLimit = 0.05;

std::string Fixed(double value, const JudgeSettings& settings) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{:.{}f}", value, settings.precision);
}

// An error that the benchmark device, a GPU as a rule, shows as well is softened (decisions 39).
constexpr std::string_view kSoftened = "; softened: the GPU has {} as well";

/// How a rule that looks at the device alone comes out for one metric.
Verdict JudgeAlone(const RuleInput& input, Metric metric, bool passes, bool benchmark_is_as_bad,
                   const std::string& wanted, Judgement& judgement) {
  if (passes) return Verdict::kPass;
  std::string text = fmt::format("{} is {}, {} is wanted", MetricHeading(metric),
                                 InWords(input.device.measurements[metric].value), wanted);
  const bool softened = benchmark_is_as_bad && !input.settings.documented_only;
  if (softened) text += fmt::format(fmt::runtime(kSoftened), InWords(input.benchmark[metric].value));
  const Verdict verdict = softened ? Verdict::kWarning : Verdict::kError;
  AddReason(judgement, verdict, text);
  return verdict;
}

// Both show the same value: whatever the limit, the benchmark breaks it as the device does.
bool IsSame(const Cell& benchmark, double device) {
  return benchmark.IsUsable() && (benchmark.value == device || (std::isnan(benchmark.value) && std::isnan(device)));
}

// A rate of errors: the benchmark's own is at least as large. Values that no rate can have soften nothing.
bool IsAsLarge(const Cell& benchmark, double device) {
  if (IsSame(benchmark, device)) return true;
  return benchmark.IsUsable() && device > 0 && benchmark.value >= device && std::isfinite(benchmark.value);
}

// A share of good elements: the benchmark's own is at most as large.
bool IsAsSmall(const Cell& benchmark, double device) {
  if (IsSame(benchmark, device)) return true;
  return benchmark.IsUsable() && benchmark.value >= 0 && benchmark.value <= device;
}

// 5.1
void ApplyThousandth(const RuleInput& input, Judgement& judgement) {
  const double value = input.device.measurements[Metric::kThousandth].value;
  judgement.verdict = JudgeAlone(input, Metric::kThousandth, value >= kThousandthLimit,
                                 IsAsSmall(input.benchmark[Metric::kThousandth], value), "0.999 or more", judgement);
  judgement[DetailsColumn::kThousandth] = input.device.Text(Metric::kThousandth);
  judgement[DetailsColumn::kThousandthStatus] = VerdictWord(judgement.verdict);
}

// 5.2
void ApplyBinary(const RuleInput& input, Judgement& judgement) {
  const double rate = input.device.measurements[Metric::kBinaryMismatch].value;
  judgement.verdict = JudgeAlone(input, Metric::kBinaryMismatch, rate == 0,
                                 IsAsLarge(input.benchmark[Metric::kBinaryMismatch], rate), "0", judgement);
  judgement[DetailsColumn::kBinaryRate] = input.device.Text(Metric::kBinaryMismatch);
  judgement[DetailsColumn::kBinaryStatus] = VerdictWord(judgement.verdict);
  if (judgement.verdict == Verdict::kError && input.api == "topk") judgement.message += std::string(kTopkHint) + "\n";
}

// 5.3
void ApplyAbsoluteThreshold(const RuleInput& input, Judgement& judgement) {
  constexpr std::array<std::pair<DetailsColumn, DetailsColumn>, kAbsoluteMetrics.size()> kColumns = {
      {{DetailsColumn::kInfNanRate, DetailsColumn::kInfNanStatus},
       {DetailsColumn::kRelativeRate, DetailsColumn::kRelativeStatus},
       {DetailsColumn::kAbsoluteRate, DetailsColumn::kAbsoluteStatus}}};
  judgement.verdict = Verdict::kPass;
  for (std::size_t i = 0; i < kAbsoluteMetrics.size(); ++i) {
    const Metric metric = kAbsoluteMetrics[i];
    const double rate = input.device.measurements[metric].value;
    const Verdict verdict =
        JudgeAlone(input, metric, rate == 0, IsAsLarge(input.benchmark[metric], rate), "0", judgement);
    judgement[kColumns[i].first] = Fixed(rate, input.settings);
    judgement[kColumns[i].second] = VerdictWord(verdict);
    judgement.verdict = Worse(judgement.verdict, verdict);
  }
}

void AddNote(Judgement& judgement, Metric metric, const Ratio& ratio, double device, double benchmark) {
  switch (ratio.note) {
    case Ratio::Note::kNone:
      return;
    case Ratio::Note::kBothInfinite:
    case Ratio::Note::kBothNan:
      judgement.message += fmt::format("note: {} is {} on both devices\n", MetricHeading(metric), InWords(device));
      return;
    case Ratio::Note::kInfinite:
    case Ratio::Note::kOneNan:
      judgement.message += fmt::format("note: {} is {} on the NPU but {} on the GPU\n", MetricHeading(metric),
                                       InWords(device), InWords(benchmark));
      return;
  }
}

// 5.5
void ApplyUlp(const RuleInput& input, Judgement& judgement) {
  const double mean = input.device.measurements[Metric::kUlpMean].value;
  const double share = input.device.measurements[Metric::kUlpShare].value;
  const double benchmark_mean = input.benchmark[Metric::kUlpMean].value;
  const double benchmark_share = input.benchmark[Metric::kUlpShare].value;
  const Ratio mean_ratio = ComputeRatio(mean, benchmark_mean);
  const Ratio share_ratio = ComputeRatio(share, benchmark_share);
  AddNote(judgement, Metric::kUlpMean, mean_ratio, mean, benchmark_mean);
  AddNote(judgement, Metric::kUlpShare, share_ratio, share, benchmark_share);

  const bool consistent = mean_ratio.consistent && share_ratio.consistent;
  const bool passes = consistent && (input.is_float32 ? mean < kUlpSingleMeanLimit || share < kUlpSingleShareLimit ||
                                                            share_ratio.value < 1
                                                      : share < kUlpHalfShareLimit || share_ratio.value < 1);
  judgement.verdict = Verdict::kPass;
  if (!passes) {
    std::string text = fmt::format("{} {} and {} {} do not meet the ULP rule for {}", MetricHeading(Metric::kUlpMean),
                                   InWords(mean), MetricHeading(Metric::kUlpShare), InWords(share), input.device.dtype);
    // The benchmark breaks the limits itself at least as much: it would fail in the device's place.
    const bool softened = !input.settings.documented_only && consistent &&
                          IsAsLarge(input.benchmark[Metric::kUlpShare], share) &&
                          (!input.is_float32 || IsAsLarge(input.benchmark[Metric::kUlpMean], mean));
    if (softened) {
      text += fmt::format(fmt::runtime(kSoftened), InWords(benchmark_mean) + " and " + InWords(benchmark_share));
    }
    judgement.verdict = softened ? Verdict::kWarning : Verdict::kError;
    AddReason(judgement, judgement.verdict, text);
  }
  judgement[DetailsColumn::kUlpMean] = Fixed(mean, input.settings);
  judgement[DetailsColumn::kUlpShare] = Fixed(share, input.settings);
  judgement[DetailsColumn::kUlpShareRatio] = Fixed(share_ratio.value, input.settings);
  judgement[DetailsColumn::kUlpStatus] = VerdictWord(judgement.verdict);
}

struct BenchmarkLimit {
  Metric metric;
  double error_above;
  bool counts;
  DetailsColumn ratio;
  DetailsColumn status;
};
constexpr std::array<BenchmarkLimit, kBenchmarkMetrics.size()> kBenchmarkLimits = {{
    {Metric::kSmallValueShare, 2, true, DetailsColumn::kSmallValueRatio, DetailsColumn::kSmallValueStatus},
    {Metric::kRootMeanSquareError, 2, true, DetailsColumn::kRootMeanSquareRatio, DetailsColumn::kRootMeanSquareStatus},
    {Metric::kMaxRelativeError, 10, true, DetailsColumn::kMaxRelativeRatio, DetailsColumn::kMaxRelativeStatus},
    {Metric::kMeanRelativeError, 2, true, DetailsColumn::kMeanRelativeRatio, DetailsColumn::kMeanRelativeStatus},
    {Metric::kErrorBalance, 2, false, DetailsColumn::kBalanceRatio, DetailsColumn::kBalanceStatus},
}};

// 5.6; the error balance is shown but does not count, and does not look at consistency.
void ApplyBenchmark(const RuleInput& input, Judgement& judgement) {
  judgement.verdict = Verdict::kPass;
  std::array<Ratio, kBenchmarkLimits.size()> ratios;
  for (std::size_t i = 0; i < kBenchmarkLimits.size(); ++i) {
    const Metric metric = kBenchmarkLimits[i].metric;
    const double device = input.device.measurements[metric].value;
    const double benchmark = input.benchmark[metric].value;
    ratios[i] = ComputeRatio(device, benchmark);
    AddNote(judgement, metric, ratios[i], device, benchmark);
  }
  for (std::size_t i = 0; i < kBenchmarkLimits.size(); ++i) {
    const BenchmarkLimit& limit = kBenchmarkLimits[i];
    const Ratio& ratio = ratios[i];
    Verdict verdict = Verdict::kPass;
    if (limit.counts && !ratio.consistent) {
      verdict = Verdict::kError;
    } else if (ratio.value > limit.error_above) {
      verdict = Verdict::kError;
    } else if (ratio.value > 1) {
      verdict = Verdict::kWarning;
    }
    judgement[limit.ratio] = Fixed(ratio.value, input.settings);
    judgement[limit.status] = VerdictWord(verdict);
    if (!limit.counts || verdict == Verdict::kPass) continue;
    judgement.verdict = Worse(judgement.verdict, verdict);
    AddReason(judgement, verdict,
              ratio.consistent ? fmt::format("{} is {} times the GPU's, at most 1 is wanted",
                                             MetricHeading(limit.metric), InWords(ratio.value))
                               : fmt::format("{} is finite on one device only", MetricHeading(limit.metric)));
  }
}

}  // namespace

const std::string_view kTopkHint =
    "hint: an NPU sorts the result of topk even with sorted=False, a CPU does not; check with sorted=True";

std::string InWords(double value) {
  if (std::isnan(value)) return "nan";
  return fmt::format("{:.6g}", value);
}

void AddReason(Judgement& judgement, Verdict verdict, const std::string& text) {
  if (judgement.reason.empty()) judgement.reason = text;
  judgement.message += fmt::format("{}: {}\n", VerdictWord(verdict), text);
}

std::span<const Metric> RequiredMetrics(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kBenchmark:
      return kBenchmarkMetrics;
    case Algorithm::kAbsoluteThreshold:
      return kAbsoluteMetrics;
    case Algorithm::kBinary:
      return kBinaryMetrics;
    case Algorithm::kUlp:
      return kUlpMetrics;
    case Algorithm::kThousandth:
      return kThousandthMetrics;
  }
  return {};
}

std::span<const Metric> RequiredBenchmarkMetrics(Algorithm algorithm) {
  if (algorithm == Algorithm::kBenchmark || algorithm == Algorithm::kUlp) return RequiredMetrics(algorithm);
  return {};
}

void ApplyRule(Algorithm algorithm, const RuleInput& input, Judgement& judgement) {
  switch (algorithm) {
    case Algorithm::kBenchmark:
      return ApplyBenchmark(input, judgement);
    case Algorithm::kAbsoluteThreshold:
      return ApplyAbsoluteThreshold(input, judgement);
    case Algorithm::kBinary:
      return ApplyBinary(input, judgement);
    case Algorithm::kUlp:
      return ApplyUlp(input, judgement);
    case Algorithm::kThousandth:
      return ApplyThousandth(input, judgement);
  }
}

}  // namespace msprobe
