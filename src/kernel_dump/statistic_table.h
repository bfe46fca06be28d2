#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "kernel_dump/kernel_file_name.h"

namespace msprobe {

/// What a tensor file holds; texts as they stand in the CSV. All empty where the file could not be read.
struct KernelFileStatistics {
  std::string data_size;  ///< bytes of the elements
  std::string data_type;
  std::string shape;  ///< "(2,3,4)"
  std::string max;
  std::string min;
  std::string mean;
  std::string norm;
};

/// The rows of one statistic.csv, in the dialect and with the columns of MindSpore's own: no byte order mark, rows end
/// with LF, ordered by timestamp, inputs before outputs, slot.
class StatisticTable {
 public:
  /// Rows of an earlier run. A file that does not exist is an empty table; one with other columns an error.
  static Result<StatisticTable> Read(const std::string& path);

  /// A row equal to one that is there is left out. One with statistics takes the place of a blank one of the same file
  /// name; a blank one stands only where there is none of that name.
  void Add(const KernelFileName& name, const KernelFileStatistics& statistics);

  bool changed() const { return changed_; }
  std::string Text() const;

 private:
  struct Row {
    std::string text;  ///< with its line end
    std::string timestamp;
    std::string io;
    std::string slot;
  };

  void Insert(const std::vector<std::string>& cells);

  std::vector<Row> rows_;
  std::unordered_set<std::string> texts_;
  std::unordered_map<std::string, std::size_t> blank_rows_;  ///< by the file's part of the row, place in rows_
  std::unordered_set<std::string> names_;
  bool changed_ = false;
};

}  // namespace msprobe
