#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/case_rows.h"
#include "replay/case.h"
#include "replay/details_row.h"
#include "replay/output_value.h"

namespace msprobe {

/// Collects what the check of one call finds, and turns it into finished CSV cells.
class CaseReport {
 public:
  CaseReport(const Case& plan, int precision) : plan_(plan), precision_(precision) {}

  /// Outputs of both sides, the arguments that the call changed among them.
  Verdict CompareForward(const OutputValue& bench, const OutputValue& device);

  /// Gradients of the tensor arguments in call order, None where there is none. Dropout compares the first one only.
  /// Without any tensor argument the backward stays blank.
  Verdict CompareBackward(const OutputValue& bench, const OutputValue& device);

  /// The backward is SKIP for this reason. Several are joined.
  void SkipBackward(std::string_view reason);

  /// Whether the tensors of the direction are to be saved (accuracy_checker.md 12).
  bool NeedsSaving() const;

  CaseRows Finish();

 private:
  void AddRows(std::string_view direction, std::vector<DetailsRow>& rows);

  const Case& plan_;
  int precision_;
  Verdict forward_ = Verdict::kSkip;
  Verdict backward_ = Verdict::kSkip;
  bool compared_backward_ = false;
  std::string forward_skip_;
  std::string backward_skip_;
  std::vector<std::vector<std::string>> details_;
};

/// The answer of a worker: {"type": "rows", "index": ..., "result": {...}, "details": [...]}.
std::string RowsMessage(std::int64_t index, const CaseRows& rows);

}  // namespace msprobe
