#pragma once

#include <cstdint>
#include <string_view>

namespace msprobe {

/// Judgement of a metric, an output, a row or a direction of an API. kBlank: nothing to judge (an API without backward
/// rows). Of a direction: the worst of its outputs, SKIP only if all are (precision_metrics.md 6, fault kind B104).
enum class Verdict : std::uint8_t { kBlank, kSkip, kPass, kWarning, kError };

/// The word in the CSV files: `pass`, `warning`, `error`, `SKIP`, one space for kBlank.
std::string_view VerdictWord(Verdict verdict);

/// Reads a Status cell: the words above in any case ("Warning" of older files); anything else is kBlank.
Verdict ParseVerdict(std::string_view text);

/// The worse one: error before warning before pass before SKIP before blank. Right for metrics of a row and for rows of
/// an API (precision_standards.md 6).
constexpr Verdict Worse(Verdict a, Verdict b) { return a > b ? a : b; }

}  // namespace msprobe
