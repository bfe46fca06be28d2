#include "kernel_dump/kernel_file_name.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace msprobe {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<KernelFileName> ParseKernelFileName(std::string_view name) {
  if (!name.ends_with(".npy")) return std::nullopt;
  const std::vector<std::string_view> parts = Split(name, '.');
  // From the right: the direction has three numbers before it and one behind it.
  for (std::size_t direction = parts.size(); direction-- > 5;) {
    const bool is_output = parts[direction] == "output";
    if (!is_output && parts[direction] != "input") continue;
    if (!IsNumber(parts[direction - 1]) || !IsNumber(parts[direction - 2]) || !IsNumber(parts[direction - 3])) continue;
    std::size_t rest = direction + 1;
    if (!IsNumber(parts[rest])) continue;
    KernelFileName parsed;
    parsed.slot = parts[rest++];
    if (IsNumber(parts[rest])) parsed.slot += "." + std::string(parts[rest++]);
    // What is left is the format, the dtype and "npy", or two of them.
    const std::size_t left = parts.size() - rest;
    if (left < 2 || left > 3) continue;
    if (left == 3) parsed.data_type = ToLowerAscii(parts[rest + 1]);
    parsed.op_type = parts[0];
    for (std::size_t i = 1; i + 3 < direction; ++i) parsed.op_name += (i > 1 ? "." : "") + std::string(parts[i]);
    parsed.task_id = parts[direction - 3];
    parsed.stream_id = parts[direction - 2];
    parsed.timestamp = parts[direction - 1];
    parsed.is_output = is_output;
    return parsed;
  }
  return std::nullopt;
}

}  // namespace msprobe
