#include "base/csv.h"

#include <cstring>
#include <utility>

#include "base/file_handle.h"
#include "base/files.h"
#include "base/text.h"

namespace msprobe {
namespace {

bool LooksLikeFormula(std::string_view cell) {
  if (cell.empty() || std::string_view("=+-@").find(cell.front()) == std::string_view::npos) return false;
  return !ParseDouble(cell).has_value();
}

void AppendCell(std::string& out, std::string_view cell) {
  const bool quoted = cell.find_first_of(",\"\r\n") != std::string_view::npos;
  if (quoted) out += '"';
  if (LooksLikeFormula(cell)) out += '\'';  // quoting alone does not stop a spreadsheet
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const char c = cell[i];
    if (c == '"') {
      out += "\"\"";
    } else if (c == '\r') {
      out += '\n';
      if (i + 1 < cell.size() && cell[i + 1] == '\n') ++i;
    } else if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      out += '_';
    } else {
      out += c;
    }
  }
  if (quoted) out += '"';
}

/// Takes the bytes of a file in pieces of any size and hands out rows.
class RowParser {
 public:
  enum class Outcome { kMore, kRow, kTooLong };

  /// After a row that ended with CR: drops the LF that belongs to it. To be called before each Feed.
  void SkipLineFeed(std::string_view& text) {
    if (state_ != State::kAfterReturn || text.empty()) return;
    state_ = State::kCellStart;
    if (text.front() == '\n') text.remove_prefix(1);
  }

  /// Consumes bytes of `text` up to the end of a row.
  Outcome Feed(std::string_view& text) {
    while (!text.empty()) {
      if (!Step(text)) return Outcome::kTooLong;
      if (row_ended_) {
        row_ended_ = false;
        return Outcome::kRow;
      }
    }
    return Outcome::kMore;
  }

  /// Ends the last row without a line end; false when a quote is open.
  bool Finish() {
    const bool open = state_ == State::kQuoted;
    if (state_ != State::kAfterReturn && !IsEmpty()) EndCell();
    return !open;
  }

  /// Nothing since the last row's end.
  bool IsEmpty() const {
    return cells_.empty() && cell_.empty() && state_ != State::kQuoted && state_ != State::kQuoteInQuoted;
  }
  bool InQuotes() const { return state_ == State::kQuoted; }

  std::vector<std::string> TakeCells() {
    bytes_ = 0;
    return std::exchange(cells_, {});
  }

 private:
  enum class State { kCellStart, kPlain, kQuoted, kQuoteInQuoted, kAfterReturn };

  // Handles one special character or one run of ordinary ones. False when the row is above the limits.
  bool Step(std::string_view& text) {
    const char c = text.front();
    if (state_ == State::kQuoted) {
      if (c == '"') {
        state_ = State::kQuoteInQuoted;
        text.remove_prefix(1);
        return true;
      }
      const void* quote = std::memchr(text.data(), '"', text.size());
      const std::size_t length =
          quote == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
      return AppendRun(text, length);
    }
    if (c == ',') {
      text.remove_prefix(1);
      EndCell();
      state_ = State::kCellStart;
      return cells_.size() < kMaxCsvRowCells;
    }
    if (c == '\n' || c == '\r') {
      text.remove_prefix(1);
      if (!IsEmpty()) EndCell();
      state_ = c == '\r' ? State::kAfterReturn : State::kCellStart;
      row_ended_ = true;
      return true;
    }
    if (c == '"' && (state_ == State::kCellStart || state_ == State::kQuoteInQuoted)) {
      if (state_ == State::kQuoteInQuoted) cell_ += '"';  // a doubled quote
      state_ = State::kQuoted;
      text.remove_prefix(1);
      return ++bytes_ <= kMaxCsvRowBytes;
    }
    // A quote inside a cell that does not start with one is an ordinary character.
    state_ = State::kPlain;
    std::size_t length = 1;
    while (length < text.size() && text[length] != ',' && text[length] != '\n' && text[length] != '\r') ++length;
    return AppendRun(text, length);
  }

  bool AppendRun(std::string_view& text, std::size_t length) {
    bytes_ += length;
    if (bytes_ > kMaxCsvRowBytes) return false;
    cell_.append(text.data(), length);
    text.remove_prefix(length);
    return true;
  }

  void EndCell() { cells_.push_back(std::exchange(cell_, {})); }

  State state_ = State::kCellStart;
  std::string cell_;
  std::vector<std::string> cells_;
  std::size_t bytes_ = 0;
  bool row_ended_ = false;
};

Error RowTooLong(const std::string& path, std::size_t row) {
  return {ErrorCode::kInput,
          Printable(path) + ": row " + std::to_string(row) +
              " is larger than 64 MiB or has more than 4096 cells; this is not a CSV file of the checker"};
}

}  // namespace

void AppendCsvRow(std::string& out, std::span<const std::string> cells) {
  // A row of one empty cell would be an empty line.
  if (cells.size() == 1 && cells[0].empty()) out += "\"\"";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    AppendCell(out, cells[i]);
  }
  out += "\r\n";
}

bool ParseCsvRow(std::string_view text, std::vector<std::string>& cells) {
  RowParser parser;
  const RowParser::Outcome outcome = parser.Feed(text);
  if (outcome == RowParser::Outcome::kTooLong) return false;
  const bool closed = outcome == RowParser::Outcome::kRow || parser.Finish();
  cells = parser.TakeCells();
  return closed;
}

Status ReadCsv(const std::string& path, const std::function<bool(std::size_t, std::vector<std::string>&&)>& visit,
               std::string* torn) {
  if (torn != nullptr) torn->clear();
  Result<FileHandle> file = OpenInputFile(path);
  if (!file.ok()) return file.error();
  RowParser parser;
  std::vector<char> buffer(1U << 18U);
  std::string pending;  // raw text of the unfinished row, for `torn`
  std::size_t row = 1;
  bool at_start = true;
  std::size_t carried = 0;
  while (true) {
    const Result<std::size_t> count = ReadSome(*file, buffer.data() + carried, buffer.size() - carried, path);
    if (!count.ok()) return count.error();
    std::string_view text(buffer.data(), carried + *count);
    if (at_start) {
      // The mark may arrive in pieces; three bytes decide.
      if (text.size() < kByteOrderMark.size() && *count > 0) {
        carried = text.size();
        continue;
      }
      if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
      at_start = false;
      carried = 0;
    }
    const bool last = *count == 0;
    while (true) {
      parser.SkipLineFeed(text);
      if (text.empty()) break;
      const std::string_view before = text;
      const RowParser::Outcome outcome = parser.Feed(text);
      if (outcome == RowParser::Outcome::kTooLong) return RowTooLong(path, row);
      if (outcome == RowParser::Outcome::kMore) {
        if (torn != nullptr) pending += before;
        break;
      }
      pending.clear();
      std::vector<std::string> cells = parser.TakeCells();
      if (!cells.empty() && !visit(row, std::move(cells))) return {};
      ++row;
    }
    if (last) break;
  }
  if (parser.IsEmpty()) return {};
  if (torn != nullptr) {
    *torn = std::move(pending);
    return {};
  }
  if (parser.InQuotes()) {
    return Error{ErrorCode::kInput, Printable(path) + ": a quote opened in row " + std::to_string(row) +
                                        " is never closed; the file is cut off or damaged"};
  }
  parser.Finish();
  visit(row, parser.TakeCells());
  return {};
}

}  // namespace msprobe
