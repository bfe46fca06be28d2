#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/dump_settings.h"

namespace msprobe {

/// Decides which records are kept: `scope`, `list` and `data_mode` (mindspore_dump.md 5, the same for both frameworks).
/// Filtering never changes the numbering of what remains.
class RecordFilter {
 public:
  explicit RecordFilter(const DumpSettings& settings);

  /// To be asked exactly once per record, when its name is known: a record named as an end of the scope opens the range
  /// before, or closes it after, the decision about itself.
  bool Admit(std::string_view record_name);

  /// A new step begins outside the scope.
  void Reset() { scope_open_ = false; }

  const DataMode& data_mode() const { return data_mode_; }

 private:
  std::string scope_begin_;
  std::string scope_end_;
  std::vector<std::string> list_;
  DataMode data_mode_;
  bool scope_open_ = false;
};

}  // namespace msprobe
