#include "kernel_dump/statistic_table.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::string_view kHeader =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
    "L2Norm Value";
constexpr std::size_t kColumns = 14;
// The columns that come from the file's name, and those that are blank when the file could not be read.
constexpr std::size_t kNameColumns = 7;
constexpr std::size_t kTimestamp = 4;
constexpr std::size_t kIo = 5;
constexpr std::size_t kSlot = 6;
constexpr std::size_t kShape = 9;

std::string RowText(const std::vector<std::string>& cells, std::size_t count) {
  std::string text;
  AppendCsvRow(text, std::span(cells).first(count));
  text.erase(text.size() - 2);  // CR LF
  return text;
}

/// Decimal texts of any length in the order of their numbers.
std::tuple<std::size_t, std::string_view> Number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return {text.size(), text};
}

}  // namespace

Result<StatisticTable> StatisticTable::Read(const std::string& path) {
  StatisticTable table;
  const auto wrong = [&](const char* what) {
    return Error{ErrorCode::kOutput, Printable(path) + " " + what + "; move it away, nothing was changed"};
  };
  if (!IsPlainFile(path)) {
    if (IsAbsent(path)) return table;
    return wrong("is not a regular file");
  }
  bool fits = true;
  bool has_header = false;
  const Status read = ReadCsv(path, [&](std::size_t, std::vector<std::string>&& cells) {
    fits = cells.size() == kColumns;
    if (!has_header) {
      has_header = true;
      fits = fits && Join(cells, ",") == kHeader;
    } else if (fits) {
      table.Insert(cells);
    }
    return fits;
  });
  if (!read.ok()) return read.error();
  if (!fits) return wrong("has other columns than those of this tool");
  table.changed_ = false;
  return table;
}

void StatisticTable::Add(const KernelFileName& name, const KernelFileStatistics& statistics) {
  const std::vector<std::string> cells = {
      name.op_type,     name.op_name,         name.task_id,
      name.stream_id,   name.timestamp,       name.is_output ? "output" : "input",
      name.slot,        statistics.data_size, name.data_type.empty() ? statistics.data_type : name.data_type,
      statistics.shape, statistics.max,       statistics.min,
      statistics.mean,  statistics.norm};
  // Through the text and back, so that what CSV cannot hold compares equal with what is read from a file.
  std::vector<std::string> stored;
  if (ParseCsvRow(RowText(cells, kColumns), stored)) Insert(stored);
}

void StatisticTable::Insert(const std::vector<std::string>& cells) {
  const std::string name = RowText(cells, kNameColumns);
  const bool blank = cells[kShape].empty();
  if (blank && names_.find(name) != names_.end()) return;
  Row row{RowText(cells, kColumns) + "\n", cells[kTimestamp], cells[kIo], cells[kSlot]};
  if (!texts_.insert(row.text).second) return;
  names_.insert(name);
  changed_ = true;
  if (const auto old = blank_rows_.find(name); old != blank_rows_.end()) {
    rows_[old->second] = std::move(row);
    blank_rows_.erase(old);
    return;
  }
  if (blank) blank_rows_.emplace(name, rows_.size());
  rows_.push_back(std::move(row));
}

std::string StatisticTable::Text() const {
  std::vector<const Row*> ordered;
  for (const Row& row : rows_) ordered.push_back(&row);
  const auto key = [](const Row* row) {
    return std::tuple(Number(row->timestamp), std::string_view(row->io), Number(row->slot),
                      std::string_view(row->text));
  };
  std::sort(ordered.begin(), ordered.end(), [&](const Row* a, const Row* b) { return key(a) < key(b); });
  std::string text = std::string(kHeader) + "\n";
  for (const Row* row : ordered) text += row->text;
  return text;
}

}  // namespace msprobe
