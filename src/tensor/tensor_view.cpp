#include "tensor/tensor_view.h"

#include <cstring>
#include <limits>

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
    const std::int64_t run = std::min(count, sizes_[0] - index_[0]);
    CopyRun(position_, strides_[0], item_size_, run, out);
    out += run * static_cast<std::int64_t>(item_size_);
    count -= run;
    Advance(run);
  }
}

// Moves `steps` elements on within the innermost dimension, and on to the next row at its end.
void BlockReader::Advance(std::int64_t steps) {
  position_ += steps * strides_[0];
  index_[0] += steps;
  for (int i = 0; index_[i] == sizes_[i];) {
    position_ -= index_[i] * strides_[i];
    index_[i] = 0;
    if (++i == rank_) {
      return;
    }
    position_ += strides_[i];
    ++index_[i];
  }
}

}  // namespace msprobe
