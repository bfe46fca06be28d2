#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// The dialect of all CSV files (accuracy_checker.md 11.2): UTF-8 with BOM at the start of the file only, comma, rows
/// end with CR LF, minimal double-quote quoting, line breaks inside a cell are LF. "Blank" is exactly one space.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kBlankCell = " ";

/// Appends one row with its line end. A cell that a spreadsheet would run as a formula (starting with = + - @ and not a
/// number) gets an apostrophe in front. Line breaks of any kind become LF, other control characters but tab become '_'.
void AppendCsvRow(std::string& out, std::span<const std::string> cells);

/// A row longer than this, or with more cells, is an error: no tool writes one, and memory stays bounded.
inline constexpr std::size_t kMaxCsvRowBytes = 64U << 20U;
inline constexpr std::size_t kMaxCsvRowCells = 4096;

/// Streams a CSV file row by row (quoted line breaks, CR LF or LF, BOM removed); `visit(row_number, cells)` returns
/// false to stop. Row numbers count from 1 as a spreadsheet shows them; empty lines count but are not visited. A torn
/// last row (no line end, or an open quote) is handed to `torn` as its raw text if given, not to `visit`; without
/// `torn` it is visited, and an open quote is an error.
Status ReadCsv(const std::string& path, const std::function<bool(std::size_t, std::vector<std::string>&&)>& visit,
               std::string* torn = nullptr);

/// Cells of one row's raw text (with or without its line end). False for an open quote or a row above the limits.
bool ParseCsvRow(std::string_view text, std::vector<std::string>& cells);

}  // namespace msprobe
