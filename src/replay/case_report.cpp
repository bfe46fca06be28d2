#include "replay/case_report.h"

#include <utility>

#include "base/csv.h"
#include "check/rows_json.h"
#include "replay/output_comparison.h"

namespace msprobe {

void CaseReport::AddRows(std::string_view direction, std::vector<DetailsRow>& rows) {
  const std::string prefix = plan_.name + "." + std::string(direction) + ".output.";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    DetailsRow& row = rows[i];
    if (!plan_.note.empty()) row.message = plan_.note + (row.message.empty() ? "" : "; " + row.message);
    details_.push_back(DetailsCells(prefix + std::to_string(i), row, precision_));
  }
}

Verdict CaseReport::CompareForward(const OutputValue& bench, const OutputValue& device) {
  auto rows = CompareOutputs(plan_.api, plan_.treatment, bench, device);
  if (rows.empty()) {
    rows.resize(1);
    rows.front().message = "the call has no output";
  }
  forward_ = Aggregate(rows);
  if (forward_ == Verdict::kSkip) forward_skip_ = rows.front().message;
  AddRows("forward", rows);
  return forward_;
}

Verdict CaseReport::CompareBackward(const OutputValue& bench, const OutputValue& device) {
  auto rows = CompareOutputs(plan_.api, plan_.treatment, bench, device);
  for (DetailsRow& row : rows) {
    if (row.verdict == Verdict::kSkip) row.message = "no gradient arrives at this argument";
  }
  if (plan_.treatment == Treatment::kDropout && rows.size() > 1) rows.resize(1);
  if (rows.empty()) return Verdict::kSkip;
  compared_backward_ = true;
  backward_ = Aggregate(rows);
  if (backward_ == Verdict::kSkip) backward_skip_ = rows.front().message;
  AddRows("backward", rows);
  return backward_;
}

void CaseReport::SkipBackward(std::string_view reason) {
  if (!backward_skip_.empty()) backward_skip_ += "; ";
  backward_skip_ += reason;
}

bool CaseReport::NeedsSaving() const {
  const auto bad = [](Verdict verdict) { return verdict == Verdict::kWarning || verdict == Verdict::kError; };
  return bad(forward_) || bad(backward_);
}

CaseRows CaseReport::Finish() {
  if (!backward_skip_.empty() && !compared_backward_) {
    std::vector<DetailsRow> rows(1);
    rows.front().message = backward_skip_;
    AddRows("backward", rows);
  }
  CaseRows rows;
  rows.name = plan_.name;
  rows.forward = VerdictWord(forward_);
  const bool has_backward = compared_backward_ || !backward_skip_.empty();
  rows.backward = has_backward ? std::string(VerdictWord(backward_)) : std::string(kBlankCell);
  if (forward_ == Verdict::kSkip) {
    rows.message = forward_skip_;
  } else if (has_backward && backward_ == Verdict::kSkip) {
    rows.message = "backward: " + backward_skip_;
  }
  rows.details = std::move(details_);
  return rows;
}

std::string RowsMessage(std::int64_t index, const CaseRows& rows) {
  std::string message = "{\"type\": \"rows\", \"index\": " + std::to_string(index) + ", ";
  std::string text;
  AppendRowsJson(text, rows);
  message.append(text, 1);  // the members of the object, behind its brace
  return message;
}

}  // namespace msprobe
