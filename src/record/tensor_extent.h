#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace msprobe {

/// What part of a storage a tensor touches, in elements relative to its first one.
struct TensorExtent {
  std::int64_t count = 0;    ///< number of elements
  std::int64_t lowest = 0;   ///< 0 or less: only negative strides reach before the first element
  std::int64_t highest = 0;  ///< the last element touched
};

/// Nothing if the lists differ in length, a size is negative, or a number of bytes does not fit 62 bits. Sizes of zero
/// are left out of that last test for the others.
std::optional<TensorExtent> ComputeExtent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                                          std::size_t item_size);

/// Strides in elements of a contiguous tensor whose extent was computed. Sizes of zero count as one, as in torch.
std::vector<std::int64_t> RowMajorStrides(std::span<const std::int64_t> shape);

}  // namespace msprobe
