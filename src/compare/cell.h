#pragma once

#include <cstdint>
#include <string_view>

namespace msprobe {

/// What a metric's cell holds.
enum class CellKind : std::uint8_t {
  kBlank,   ///< spaces only: not computed
  kEmpty,   ///< really empty; a NaN, except where a whole group of metrics is empty
  kNumber,  ///< a number, an infinity or a NaN, which "N/A", "NULL" and the like also are
  kText,    ///< something else
};

struct Cell {
  CellKind kind = CellKind::kBlank;
  double value = 0;  ///< NaN for kEmpty; of no meaning for kBlank and kText

  bool IsMissing() const { return kind == CellKind::kBlank || kind == CellKind::kEmpty; }
  bool IsUsable() const { return kind == CellKind::kNumber || kind == CellKind::kEmpty; }
};

/// precision_standards.md 2, "Cell parsing".
Cell ParseCell(std::string_view text);

/// A cell of texts: empty, spaces, "N/A", "nan" and the like all mean blank.
bool IsBlankText(std::string_view text);

}  // namespace msprobe
