#include "compare/details_file.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/csv.h"
#include "base/files.h"
#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::string_view kNameHeading = "API Name";
constexpr std::string_view kDtypeHeading = "DEVICE Dtype";
constexpr std::string_view kStatusHeading = "Status";
constexpr std::string_view kMessageHeading = "Message";

/// Where each column stands in the file at hand.
struct Layout {
  std::size_t column_count = 0;
  std::size_t name = 0;
  std::size_t dtype = 0;
  std::array<std::size_t, kMetricCount> metrics = {};
  std::optional<std::size_t> status;  // older files and files cut down by hand may lack these two
  std::optional<std::size_t> message;
};

Result<Layout> ReadLayout(const std::vector<std::string>& headings, const std::string& path) {
  Layout layout;
  layout.column_count = headings.size();
  std::vector<std::string> missing;
  // Of a repeated heading the first counts.
  const auto find = [&](std::string_view wanted) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < headings.size(); ++i) {
      if (Trim(headings[i]) == wanted) return i;
    }
    return std::nullopt;
  };
  const auto require = [&](std::string_view wanted) {
    const std::optional<std::size_t> position = find(wanted);
    if (!position) missing.push_back(fmt::format("\"{}\"", wanted));
    return position.value_or(0);
  };
  layout.name = require(kNameHeading);
  layout.dtype = require(kDtypeHeading);
  for (std::size_t i = 0; i < kMetricCount; ++i) layout.metrics[i] = require(kMetricHeadings[i]);
  layout.status = find(kStatusHeading);
  layout.message = find(kMessageHeading);
  if (!missing.empty()) {
    return Error{ErrorCode::kInput,
                 fmt::format("{} lacks the headings {}; give an accuracy_checking_details file of the checker",
                             Printable(path), Join(missing, ", "))};
  }
  return layout;
}

MeasuredRow TakeRow(const Layout& layout, std::size_t number, std::vector<std::string>&& cells) {
  MeasuredRow row;
  const std::size_t count = cells.size();
  cells.resize(std::max(count, layout.column_count));
  if (count < layout.column_count) {
    row.damage = fmt::format("row {} has {} cells where the heading has {}", number, count, layout.column_count);
  }
  row.name = std::string(Trim(cells[layout.name]));
  if (!IsBlankText(cells[layout.dtype])) row.dtype = std::string(Trim(cells[layout.dtype]));
  if (layout.message && !IsBlankText(cells[*layout.message])) row.message = std::move(cells[*layout.message]);
  if (layout.status) row.measurements.status = ParseVerdict(cells[*layout.status]);
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    row.texts[i] = cells[layout.metrics[i]];
    row.measurements.cells[i] = ParseCell(row.texts[i]);
  }
  return row;
}

}  // namespace

Status CheckDetailsFile(const std::string& path, std::vector<std::string>& warnings) {
  if (Status checked = CheckInputFile(path, ".csv", &warnings); !checked.ok()) return checked;
  Status layout_status =
      Error{ErrorCode::kInput, Printable(path) + " is empty; give an accuracy_checking_details file"};
  Status read = ReadCsv(path, [&](std::size_t, std::vector<std::string>&& cells) {
    const Result<Layout> layout = ReadLayout(cells, path);
    layout_status = layout.ok() ? Status() : Status(layout.error());
    return false;
  });
  return read.ok() ? layout_status : read;
}

Status ReadDetailsFile(const std::string& path, const std::function<void(MeasuredRow&&)>& visit,
                       std::vector<std::string>& warnings) {
  std::optional<Layout> layout;
  Status layout_status;
  std::size_t nameless = 0;
  std::size_t last_number = 1;
  std::string torn;
  const auto take = [&](std::size_t number, std::vector<std::string>&& cells) {
    last_number = number;
    if (!layout) {
      Result<Layout> read = ReadLayout(cells, path);
      if (!read.ok()) {
        layout_status = read.error();
        return false;
      }
      layout = *read;
      return true;
    }
    MeasuredRow row = TakeRow(*layout, number, std::move(cells));
    if (row.name.empty()) {
      ++nameless;
    } else {
      visit(std::move(row));
    }
    return true;
  };
  if (Status read = ReadCsv(path, take, &torn); !read.ok()) return read;
  if (!layout_status.ok()) return layout_status;
  if (!torn.empty()) {
    // A last row that is whole but for its line end counts; editors leave it out.
    std::vector<std::string> cells;
    const bool closed = ParseCsvRow(torn, cells);
    if (closed && (!layout || cells.size() >= layout->column_count)) {
      take(last_number + 1, std::move(cells));
      if (!layout_status.ok()) return layout_status;
    } else {
      warnings.push_back(
          fmt::format("{}: the last row is cut off and was left out: {}", Printable(path), Excerpt(torn, 80)));
    }
  }
  if (nameless > 0) {
    warnings.push_back(fmt::format("{}: {} rows without an API name were left out", Printable(path), nameless));
  }
  return {};
}

}  // namespace msprobe
