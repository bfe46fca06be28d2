#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// The dialect of all CSV files (accuracy_checker.md 11.2): UTF-8 with BOM at the start of the file only, comma, rows end with
/// CR LF, minimal double-quote quoting, line breaks inside a cell are LF. "Blank" is exactly one space.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kBlankCell = " ";

/// Appends one row with its line end. A cell that a spreadsheet would run as a formula (starting with = + - @ and not a number)
/// is left as it is only if it is a number; else a leading apostrophe is not added but the cell is quoted.
void AppendCsvRow(std::string& out, std::span<const std::string> cells);

/// Streams a CSV file row by row (quoted line breaks, CR LF or LF, BOM removed); `visit(row_number, cells)` returns false to
/// stop. A torn last row (no line end, or an open quote) is handed to `torn` if given, not to `visit`.
Status ReadCsv(const std::string& path, const std::function<bool(std::size_t, std::vector<std::string>&&)>& visit,
               std::string* torn = nullptr);

}  // namespace msprobe
