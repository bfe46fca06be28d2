#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// Number of elements; 1 for a 0-dimensional tensor. A product beyond int64 is cut to its maximum.
std::int64_t ElementCount(const TensorView& view);

/// Whether the elements lie in row-major order without gaps (dimensions of size 1 do not matter).
bool IsContiguous(const TensorView& view);

/// Copies the elements in row-major order to `out`, which holds ElementCount(view) * ItemSize(view.dtype) bytes.
void CopyContiguous(const TensorView& view, void* out);

/// Hands out the elements of a tensor in row-major order, run by run. Allocates nothing. Long runs are faster where the
/// tensor is transposed.
class BlockReader {
 public:
  explicit BlockReader(const TensorView& view);

  /// Elements not yet handed out.
  std::int64_t remaining() const { return remaining_; }
  bool contiguous() const { return rank_ == 0; }

  /// The next `count` elements, `count` between 0 and remaining(): a pointer into the tensor where it is contiguous,
  /// else `buffer`, filled (`count * ItemSize` bytes, aligned for the element).
  const void* Next(std::int64_t count, void* buffer);

 private:
  // After merging, each dimension has at least two elements, so no tensor that fits into memory has more.
  static constexpr int kMaxRank = 64;

  void Gather(std::int64_t count, std::byte* out);
  void Advance(int dimension, std::int64_t steps);

  const std::byte* position_;
  std::size_t item_size_;
  std::int64_t remaining_;
  int rank_ = 0;  // of the merged shape; 0: contiguous
  // Merged dimensions, innermost first; strides in bytes. Only the first rank_ entries are set.
  std::array<std::int64_t, kMaxRank> sizes_;
  std::array<std::int64_t, kMaxRank> strides_;
  std::array<std::int64_t, kMaxRank> index_;
};

/// Every run of BlockSource and ForEachBlock but the last is a multiple of this many elements.
inline constexpr std::int64_t kBlockElements = 1024;

/// Hands out a tensor in row-major order in runs of its own choice: the whole tensor at once, straight from its memory,
/// where it is contiguous, else through a buffer (in the object; large tensors get a larger one).
class BlockSource {
 public:
  explicit BlockSource(const TensorView& view);

  /// The next run, valid until the next call; none and 0 at the end.
  const void* Next(std::int64_t* count);

 private:
  // A multiple of kBlockElements of the widest elements; the large one holds many rows of a transposed matrix.
  static constexpr std::int64_t kSmallBytes = 16 * kBlockElements;
  static constexpr std::int64_t kLargeBytes = 32 * kSmallBytes;

  BlockReader reader_;
  std::int64_t block_count_;
  std::unique_ptr<std::byte[]> large_buffer_;
  alignas(64) std::array<std::byte, kSmallBytes> small_buffer_;
};

/// Calls `block(data, count)` with the runs of a BlockSource. The bytes of a run are `count * ItemSize`. No call for an
/// empty tensor.
template <typename Block>
void ForEachBlock(const TensorView& view, Block&& block);

}  // namespace msprobe

#include "tensor/tensor_view_inl.h"
