#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "compare/columns.h"
#include "compare/details_file.h"
#include "standard/standard.h"
#include "standard/verdict.h"

namespace msprobe {

struct JudgeSettings {
  int precision = 14;            ///< decimals of computed numbers
  bool documented_only = false;  ///< the letter of the document: no softening (precision_metrics.md 8.5)
};

/// Everything that is written about one row.
struct Judgement {
  Verdict verdict = Verdict::kSkip;
  std::optional<Algorithm> algorithm;  ///< nothing: the row could not be judged by any
  bool unsupported_dtype = false;
  std::string reason;   ///< one line: why it is not a pass
  std::string message;  ///< the Message cell: notes and reasons, a line break behind each
  std::array<std::string, kDetailsColumnCount> cells;  ///< a whole details row

  std::string& operator[](DetailsColumn column) { return cells[static_cast<std::size_t>(column)]; }
};

/// Judges a device row against the benchmark's row of the same name (precision_standards.md 4 and 5, decisions 35 to
/// 39).
Judgement JudgeRow(std::string_view api, const MeasuredRow& device, const Measurements& benchmark,
                   const JudgeSettings& settings);

/// A row that is not compared at all: SKIP with this message.
Judgement SkipRow(std::string_view name, const std::string& message);

/// What to know about an error of `topk`.
extern const std::string_view kTopkHint;

}  // namespace msprobe
