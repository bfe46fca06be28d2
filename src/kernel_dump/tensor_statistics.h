#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "kernel_dump/statistic_table.h"

namespace msprobe {

/// Statistics of one `.npy` file; the whole tensor is in memory meanwhile, so a file of more than `limit` bytes is an
/// error. bool has extremes of 0 and 1, neither mean nor norm.
Result<KernelFileStatistics> ReadTensorStatistics(const std::string& path, std::uint64_t limit);

/// Half of the memory that the system could give now; no limit where it does not tell.
std::uint64_t MemoryLimit();

}  // namespace msprobe
