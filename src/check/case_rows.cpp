#include "check/case_rows.h"

#include <array>

#include "base/csv.h"
#include "base/text.h"

namespace msprobe {
namespace {

std::vector<std::string> StatusRow(const std::string& name, const char* status, const std::string& message) {
  std::vector<std::string> row(kDetailsColumns, std::string(kBlankCell));
  row[0] = name;
  row[kDetailsColumns - 2] = status;
  row[kDetailsColumns - 1] = message;
  return row;
}

}  // namespace

std::span<const std::string> ResultHeader() {
  static const std::array<std::string, 4> header = {"API name", "Forward Test Success", "Backward Test Success",
                                                    "Message"};
  return header;
}

std::span<const std::string> DetailsHeader() {
  static const std::array<std::string, kDetailsColumns> header = {"API Name",
                                                                  "Bench Dtype",
                                                                  "DEVICE Dtype",
                                                                  "Shape",
                                                                  "余弦相似度",
                                                                  "最大绝对误差",
                                                                  "双百指标",
                                                                  "双千指标",
                                                                  "双万指标",
                                                                  "二进制一致错误率",
                                                                  "误差均衡性",
                                                                  "均方根误差",
                                                                  "小值域错误占比",
                                                                  "相对误差最大值",
                                                                  "相对误差平均值",
                                                                  "inf/nan错误率",
                                                                  "相对误差错误率",
                                                                  "绝对误差错误率",
                                                                  "ULP误差最大值",
                                                                  "ULP误差平均值",
                                                                  "ULP误差大于阈值占比",
                                                                  "Status",
                                                                  "Message"};
  return header;
}

CaseRows SkipRows(const std::string& name, const std::string& reason) {
  return CaseRows{name, "SKIP", "SKIP", reason, {StatusRow(name + ".forward.output.0", "SKIP", reason)}};
}

CaseRows ErrorRows(const std::string& name, bool has_backward, const std::string& reason) {
  CaseRows rows{name, "error", std::string(kBlankCell), reason, {}};
  rows.details.push_back(StatusRow(name + ".forward.output.0", "error", reason));
  if (has_backward) {
    rows.backward = "SKIP";
    rows.details.push_back(StatusRow(name + ".backward.output.0", "SKIP", reason));
  }
  return rows;
}

Outcome OutcomeOf(std::string_view forward, std::string_view backward) {
  const std::string first = ToLowerAscii(Trim(forward));
  const std::string second = ToLowerAscii(Trim(backward));
  if (first == "error" || second == "error") return Outcome::kError;
  if (first == "warning" || second == "warning") return Outcome::kWarning;
  if (first == "skip") return Outcome::kSkip;
  return Outcome::kPass;
}

}  // namespace msprobe
