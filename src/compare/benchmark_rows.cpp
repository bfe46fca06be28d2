#include "compare/benchmark_rows.h"

#include <cstring>
#include <limits>

namespace msprobe {

bool BenchmarkRows::Insert(const MeasuredRow& row) {
  if (rows_.contains(row.name)) return false;
  char* copy = static_cast<char*>(names_.allocate(row.name.size(), 1));
  std::memcpy(copy, row.name.data(), row.name.size());
  Packed packed;
  packed.first_value = values_.size();
  packed.status = row.measurements.status;
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    const Cell& cell = row.measurements.cells[i];
    packed.kinds |= static_cast<std::uint32_t>(cell.kind) << (2 * i);
    if (cell.kind == CellKind::kNumber) values_.push_back(cell.value);
  }
  const auto [position, inserted] = rows_.emplace(std::string_view(copy, row.name.size()), packed);
  order_.push_back(&*position);
  return inserted;
}

BenchmarkRows::Lookup BenchmarkRows::Take(std::string_view name, Measurements& measurements) {
  const auto found = rows_.find(name);
  if (found == rows_.end()) return Lookup::kAbsent;
  Packed& packed = found->second;
  if (packed.taken) return Lookup::kTakenBefore;
  packed.taken = true;
  measurements.status = packed.status;
  std::size_t next = packed.first_value;
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    Cell& cell = measurements.cells[i];
    cell.kind = static_cast<CellKind>((packed.kinds >> (2 * i)) & 3U);
    cell.value = std::numeric_limits<double>::quiet_NaN();
    if (cell.kind == CellKind::kNumber) cell.value = values_[next++];
  }
  return Lookup::kFound;
}

std::vector<std::string_view> BenchmarkRows::Untaken() const {
  std::vector<std::string_view> names;
  for (const auto* row : order_) {
    if (!row->second.taken) names.push_back(row->first);
  }
  return names;
}

}  // namespace msprobe
