#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/cell.h"
#include "compare/columns.h"
#include "standard/verdict.h"

namespace msprobe {

/// What the judgement needs of one row.
struct Measurements {
  std::array<Cell, kMetricCount> cells;
  Verdict status = Verdict::kBlank;  ///< the checker's own verdict

  const Cell& operator[](Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }
};

/// One row of an accuracy_checking_details file.
struct MeasuredRow {
  std::string name;
  std::string dtype;  ///< device dtype as it stands in the file; "" where it is blank
  std::string message;
  std::array<std::string, kMetricCount> texts;  ///< cells of the metrics as read
  Measurements measurements;
  std::string damage;  ///< why the row cannot be judged, "" if it can

  const std::string& Text(Metric metric) const { return texts[static_cast<std::size_t>(metric)]; }
};

/// Checks that the file can be read and has the headings of precision_standards.md 2; order is free, other columns are
/// ignored. Missing headings: one error naming them and the file.
Status CheckDetailsFile(const std::string& path, std::vector<std::string>& warnings);

/// Streams the rows in file order; rows without a name are left out. A cut-off last row is left out too. One warning
/// each.
Status ReadDetailsFile(const std::string& path, const std::function<void(MeasuredRow&&)>& visit,
                       std::vector<std::string>& warnings);

}  // namespace msprobe
