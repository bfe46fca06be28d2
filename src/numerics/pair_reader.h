#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/element_conversion.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// Reads a tensor in pieces of the caller's choice, in row-major order.
class PieceReader {
 public:
  explicit PieceReader(const TensorView& view) : source_(view), item_size_(ItemSize(view.dtype)) {}

  /// Up to `limit` elements; `*count` becomes 0 at the end.
  const void* Next(std::int64_t limit, std::int64_t* count) {
    if (remaining_ == 0) {
      run_ = static_cast<const std::byte*>(source_.Next(&remaining_));
    }
    *count = std::min(limit, remaining_);
    const std::byte* piece = run_;
    if (*count > 0) {
      run_ += *count * static_cast<std::int64_t>(item_size_);
      remaining_ -= *count;
    }
    return piece;
  }

 private:
  BlockSource source_;
  std::size_t item_size_;
  const std::byte* run_ = nullptr;
  std::int64_t remaining_ = 0;
};

/// Calls `visit(device, bench, first, count)` with pieces of two tensors of equal element count, at most `limit`
/// elements (a divisor of kBlockElements, so that the pieces of any two layouts are the same).
template <typename Visit>
void ForEachPair(const TensorView& device, const TensorView& bench, std::int64_t limit, Visit&& visit) {
  PieceReader device_reader(device);
  PieceReader bench_reader(bench);
  std::int64_t first = 0;
  while (true) {
    std::int64_t count = 0;
    std::int64_t bench_count = 0;
    const void* device_piece = device_reader.Next(limit, &count);
    const void* bench_piece = bench_reader.Next(limit, &bench_count);
    count = std::min(count, bench_count);
    if (count == 0) {
      return;
    }
    visit(device_piece, bench_piece, first, count);
    first += count;
  }
}

}  // namespace msprobe
