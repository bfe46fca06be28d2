#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/tensor_view.h"

namespace msprobe {

/// A tensor's memory, kept while the tensor itself may change or go.
struct TensorCopy {
  DType dtype{};
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< empty: contiguous
  std::vector<std::byte> bytes;
  std::size_t data_offset = 0;

  TensorView view() const { return {bytes.data() + data_offset, dtype, shape, strides}; }
};

/// A transposed or expanded tensor keeps its strides and its own storage range (decisions 10); others, of which the
/// range would be larger than the elements, become contiguous.
TensorCopy CopyTensor(const TensorView& view);

}  // namespace msprobe
