#include "kernel_dump/tensor_statistics.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "numerics/statistics.h"
#include "record/tensor_file.h"
#include "record/tensor_file_input.h"
#include "tensor/dtype.h"

namespace msprobe {
namespace {

std::string NumberText(const StatisticValue& value) {
  return std::visit(
      [](auto number) -> std::string {
        using Number = decltype(number);
        if constexpr (std::is_same_v<Number, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<Number, bool>) {
          return number ? "1" : "0";
        } else if constexpr (std::is_same_v<Number, double>) {
          return std::isnan(number) ? "nan" : fmt::format("{}", number);  // the sign of a NaN says nothing
        } else {
          return std::to_string(number);
        }
      },
      value);
}

}  // namespace

Result<KernelFileStatistics> ReadTensorStatistics(const std::string& path, std::uint64_t limit) {
  {
    const auto input = TensorFileInput::Open(path);
    if (!input.ok()) return input.error();
    if (input->size() > limit) return input->Wrong("it needs more memory than is free");
  }
  const auto tensor = ReadNpyFile(path);
  if (!tensor.ok()) return tensor.error();
  const Statistics statistics =
      ComputeStatistics({tensor->bytes.data(), tensor->dtype, tensor->shape, tensor->strides});
  KernelFileStatistics result;
  result.data_size = std::to_string(tensor->bytes.size());
  result.data_type = ShortName(tensor->dtype);
  result.shape = fmt::format("({})", fmt::join(tensor->shape, ","));
  result.max = NumberText(statistics.max);
  result.min = NumberText(statistics.min);
  result.mean = NumberText(statistics.mean);
  result.norm = NumberText(statistics.norm);
  return result;
}

std::uint64_t MemoryLimit() {
  constexpr std::string_view kLabel = "MemAvailable:";
  const auto text = ReadFile("/proc/meminfo", 1U << 20U);
  if (!text.ok()) return std::numeric_limits<std::uint64_t>::max();
  for (const std::string_view line : Split(*text, '\n')) {
    if (!line.starts_with(kLabel) || !line.ends_with(" kB")) continue;
    const auto kilobytes = ParseInteger(Trim(line.substr(kLabel.size(), line.size() - kLabel.size() - 3)));
    if (kilobytes) return static_cast<std::uint64_t>(*kilobytes) * 512U;
  }
  return std::numeric_limits<std::uint64_t>::max();
}

}  // namespace msprobe
