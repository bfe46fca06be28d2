#include "tensor/tensor_view.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace msprobe {
namespace {

// 16-byte elements: complex128.
struct Pair64 {
  std::uint64_t first;
  std::uint64_t second;
};

template <typename T>
void CopyStrided(const std::byte* source, std::int64_t stride, std::int64_t count, std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * static_cast<std::int64_t>(sizeof(T)), source + i * stride, sizeof(T));
  }
}

void CopyRun(const std::byte* source, std::int64_t stride, std::size_t item_size, std::int64_t count, std::byte* out) {
  if (stride == static_cast<std::int64_t>(item_size)) {
    std::memcpy(out, source, static_cast<std::size_t>(count) * item_size);
    return;
  }
  switch (item_size) {
    case 1:
      return CopyStrided<std::uint8_t>(source, stride, count, out);
    case 2:
      return CopyStrided<std::uint16_t>(source, stride, count, out);
    case 4:
      return CopyStrided<std::uint32_t>(source, stride, count, out);
    case 8:
      return CopyStrided<std::uint64_t>(source, stride, count, out);
    default:
      return CopyStrided<Pair64>(source, stride, count, out);
  }
}

// Transposes a plane whose columns lie dense in memory: out[row][column] = source[column * column_stride + row]. In
// tiles of which both sides fit into the first-level cache; whole columns of a large plane would miss it at every
// element.
template <typename T>
void TransposePlane(const std::byte* source, std::int64_t column_stride, std::int64_t rows, std::int64_t columns,
                    std::byte* out) {
  constexpr std::int64_t kSize = sizeof(T);
  constexpr std::int64_t kTile = 32;
  for (std::int64_t row = 0; row < rows; row += kTile) {
    const std::int64_t row_end = std::min(rows, row + kTile);
    for (std::int64_t column = 0; column < columns; column += kTile) {
      const std::int64_t column_end = std::min(columns, column + kTile);
      for (std::int64_t i = row; i < row_end; ++i) {
        CopyStrided<T>(source + column * column_stride + i * kSize, column_stride, column_end - column,
                       out + (i * columns + column) * kSize);
      }
    }
  }
}

void TransposePlane(std::size_t item_size, const std::byte* source, std::int64_t column_stride, std::int64_t rows,
                    std::int64_t columns, std::byte* out) {
  switch (item_size) {
    case 1:
      return TransposePlane<std::uint8_t>(source, column_stride, rows, columns, out);
    case 2:
      return TransposePlane<std::uint16_t>(source, column_stride, rows, columns, out);
    case 4:
      return TransposePlane<std::uint32_t>(source, column_stride, rows, columns, out);
    case 8:
      return TransposePlane<std::uint64_t>(source, column_stride, rows, columns, out);
    default:
      return TransposePlane<Pair64>(source, column_stride, rows, columns, out);
  }
}

}  // namespace

std::int64_t ElementCount(const TensorView& view) {
  std::int64_t count = 1;
  bool overflow = false;
  for (const std::int64_t size : view.shape) {
    if (size <= 0) {
      return 0;
    }
    overflow = overflow || __builtin_mul_overflow(count, size, &count);
  }
  return overflow ? std::numeric_limits<std::int64_t>::max() : count;
}

bool IsContiguous(const TensorView& view) {
  if (view.strides.empty()) {
    return true;
  }
  std::uint64_t expected = 1;  // may wrap where another dimension is empty
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    if (view.shape[i] != 1 && static_cast<std::uint64_t>(view.strides[i]) != expected) {
      return ElementCount(view) == 0;
    }
    expected *= static_cast<std::uint64_t>(view.shape[i]);
  }
  return true;
}

void CopyContiguous(const TensorView& view, void* out) {
  BlockReader reader(view);
  const std::int64_t count = reader.remaining();
  const void* data = reader.Next(count, out);
  if (data != out && count > 0) {
    std::memcpy(out, data, static_cast<std::size_t>(count) * ItemSize(view.dtype));
  }
}

BlockReader::BlockReader(const TensorView& view)
    : position_(static_cast<const std::byte*>(view.data)),
      item_size_(ItemSize(view.dtype)),
      remaining_(ElementCount(view)) {
  if (IsContiguous(view)) {
    return;
  }
  for (std::size_t i = view.shape.size(); i-- > 0;) {
    const std::int64_t size = view.shape[i];
    const std::int64_t stride = view.strides[i] * static_cast<std::int64_t>(item_size_);
    if (size == 1) {
      continue;
    }
    if (rank_ > 0 && stride == strides_[rank_ - 1] * sizes_[rank_ - 1]) {
      sizes_[rank_ - 1] *= size;
      continue;
    }
    if (rank_ == kMaxRank) {  // more than 2^64 elements: no such tensor exists
      remaining_ = 0;
      return;
    }
    sizes_[rank_] = size;
    strides_[rank_] = stride;
    index_[rank_] = 0;
    ++rank_;
  }
}

const void* BlockReader::Next(std::int64_t count, void* buffer) {
  remaining_ -= count;
  if (rank_ == 0) {
    const std::byte* start = position_;
    if (count > 0) {
      position_ += count * static_cast<std::int64_t>(item_size_);
    }
    return start;
  }
  Gather(count, static_cast<std::byte*>(buffer));
  return buffer;
}

void BlockReader::Gather(std::int64_t count, std::byte* out) {
  while (count > 0) {
    if (index_[0] == 0 && rank_ > 1 && strides_[1] == static_cast<std::int64_t>(item_size_) && count >= 2 * sizes_[0]) {
      const std::int64_t rows = std::min(count / sizes_[0], sizes_[1] - index_[1]);
      TransposePlane(item_size_, position_, strides_[0], rows, sizes_[0], out);
      out += rows * sizes_[0] * static_cast<std::int64_t>(item_size_);
      count -= rows * sizes_[0];
      Advance(1, rows);
      continue;
    }
    const std::int64_t run = std::min(count, sizes_[0] - index_[0]);
    CopyRun(position_, strides_[0], item_size_, run, out);
    out += run * static_cast<std::int64_t>(item_size_);
    count -= run;
    Advance(0, run);
  }
}

// Moves `steps` on within a dimension, and on to the next one at its end.
void BlockReader::Advance(int dimension, std::int64_t steps) {
  position_ += steps * strides_[dimension];
  index_[dimension] += steps;
  for (int i = dimension; index_[i] == sizes_[i];) {
    position_ -= index_[i] * strides_[i];
    index_[i] = 0;
    if (++i == rank_) {
      return;
    }
    position_ += strides_[i];
    ++index_[i];
  }
}

BlockSource::BlockSource(const TensorView& view) : reader_(view) {
  const auto item_size = static_cast<std::int64_t>(ItemSize(view.dtype));
  if (reader_.contiguous()) {
    block_count_ = std::numeric_limits<std::int64_t>::max();
    return;
  }
  block_count_ = kSmallBytes / item_size;
  if (reader_.remaining() > kLargeBytes / item_size) {
    large_buffer_.reset(new (std::nothrow) std::byte[kLargeBytes]);
    if (large_buffer_ != nullptr) {
      block_count_ = kLargeBytes / item_size;
    }
  }
}

const void* BlockSource::Next(std::int64_t* count) {
  *count = std::min(block_count_, reader_.remaining());
  if (*count == 0) {
    return nullptr;
  }
  return reader_.Next(*count, large_buffer_ != nullptr ? large_buffer_.get() : small_buffer_.data());
}

}  // namespace msprobe
