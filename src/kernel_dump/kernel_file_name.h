#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace msprobe {

/// The parts of the name of a tensor file of MindSpore's kernel dump (mindspore_dump.md 9.6):
/// `{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}.{input|output}.{index}[.slot].{format}[.dtype].npy`.
struct KernelFileName {
  std::string op_type;
  std::string op_name;
  std::string task_id;  ///< this and the next three: decimal digits
  std::string stream_id;
  std::string timestamp;  ///< microseconds
  std::string slot;       ///< "index.slot" where the name has both
  bool is_output = false;
  std::string data_type;  ///< in lower case as in MindSpore's own statistic.csv; "" where the name has none
};

/// Nothing for a name of another form. Parsed from the right, so that an operator's name may contain dots.
std::optional<KernelFileName> ParseKernelFileName(std::string_view name);

}  // namespace msprobe
