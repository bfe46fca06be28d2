#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/details_file.h"

namespace msprobe {

/// Rows of the benchmark device's file by API Name, packed: one lookup costs constant time, a row about its name's
/// length and 100 bytes.
class BenchmarkRows {
 public:
  BenchmarkRows() = default;
  BenchmarkRows(const BenchmarkRows&) = delete;
  BenchmarkRows& operator=(const BenchmarkRows&) = delete;

  /// False if the name is there already; the first row stays.
  bool Insert(const MeasuredRow& row);

  enum class Lookup { kFound, kAbsent, kTakenBefore };
  /// Finds a row and marks it as taken.
  Lookup Take(std::string_view name, Measurements& measurements);

  /// Names that were never taken, in file order.
  std::vector<std::string_view> Untaken() const;

  std::size_t size() const { return order_.size(); }

 private:
  struct Packed {
    std::size_t first_value = 0;
    std::uint32_t kinds = 0;  // two bits a metric
    Verdict status = Verdict::kBlank;
    bool taken = false;
  };

  std::pmr::monotonic_buffer_resource names_;
  std::unordered_map<std::string_view, Packed> rows_;
  std::vector<double> values_;  // of cells that hold a number, all rows one after the other
  std::vector<const std::pair<const std::string_view, Packed>*> order_;
};

}  // namespace msprobe
