#include "compare/cell.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace msprobe {
namespace {

// Texts that spreadsheet and data-frame tools write for a missing number.
constexpr std::array<std::string_view, 15> kMissingNumbers = {"#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN",
                                                              "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",
                                                              "NULL",   "None",     "n/a",  "null",    "NaN"};

bool MeansMissing(std::string_view text) {
  return std::find(kMissingNumbers.begin(), kMissingNumbers.end(), text) != kMissingNumbers.end();
}

}  // namespace

Cell ParseCell(std::string_view text) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (text.empty()) return {CellKind::kEmpty, kNan};
  if (text.find_first_not_of(' ') == std::string_view::npos) return {CellKind::kBlank, 0};
  if (MeansMissing(Trim(text))) return {CellKind::kNumber, kNan};
  const std::optional<double> number = ParseDouble(text);
  if (!number) return {CellKind::kText, 0};
  return {CellKind::kNumber, *number};
}

bool IsBlankText(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  return trimmed.empty() || MeansMissing(trimmed) || trimmed == "nan" || trimmed == "-nan" || trimmed == "-NaN";
}

}  // namespace msprobe
