#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compare/judge.h"

namespace msprobe {

/// What a rule sees. The cells of RequiredMetrics are usable numbers in `device`, and those of RequiredBenchmarkMetrics
/// in `benchmark`; other cells may be anything.
struct RuleInput {
  std::string_view api;
  const MeasuredRow& device;
  const Measurements& benchmark;
  bool is_float32;
  const JudgeSettings& settings;
};

std::span<const Metric> RequiredMetrics(Algorithm algorithm);
std::span<const Metric> RequiredBenchmarkMetrics(Algorithm algorithm);

/// Fills verdict, cells and messages by the algorithm's rule (precision_standards.md 5.1 to 5.6).
void ApplyRule(Algorithm algorithm, const RuleInput& input, Judgement& judgement);

/// Adds a line to the message; the first one is the reason as well.
void AddReason(Judgement& judgement, Verdict verdict, const std::string& text);

/// A number in a message: shortest form.
std::string InWords(double value);

}  // namespace msprobe
