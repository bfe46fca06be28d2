#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace msprobe {

/// A tensor in host memory that somebody else owns. Strides are in elements, may be zero (expanded) or negative.
/// An empty `strides` means row-major contiguous. Conjugate and negative bits are resolved before a view is made.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;
};

/// Number of elements; 1 for a 0-dimensional tensor.
std::int64_t ElementCount(const TensorView& view);

/// Whether the elements lie in row-major order without gaps (dimensions of size 1 do not matter).
bool IsContiguous(const TensorView& view);

/// Copies the elements in row-major order to `out`, which holds ElementCount(view) * ItemSize(view.dtype) bytes.
void CopyContiguous(const TensorView& view, void* out);

/// Calls `block(data, count)` with runs of elements in row-major order: straight into the tensor's memory where it is
/// contiguous, else through a small buffer. The bytes of a run are `count * ItemSize`.
template <typename Block>
void ForEachBlock(const TensorView& view, Block&& block);

}  // namespace msprobe

#include "tensor/tensor_view_inl.h"
