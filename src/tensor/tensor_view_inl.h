#pragma once

#include <algorithm>
#include <memory>
#include <new>

namespace msprobe {

template <typename Block>
void ForEachBlock(const TensorView& view, Block&& block) {
  if (IsContiguous(view)) {
    const std::int64_t count = ElementCount(view);
    if (count > 0) {
      block(view.data, count);
    }
    return;
  }
  // A multiple of kBlockElements of the widest elements; the large one holds many rows of a transposed matrix.
  constexpr std::int64_t kSmallBytes = 16 * kBlockElements;
  constexpr std::int64_t kLargeBytes = 32 * kSmallBytes;
  const auto item_size = static_cast<std::int64_t>(ItemSize(view.dtype));
  alignas(64) std::byte small_buffer[kSmallBytes];
  std::byte* buffer = small_buffer;
  std::int64_t block_count = kSmallBytes / item_size;
  BlockReader reader(view);
  std::unique_ptr<std::byte[]> large_buffer;
  if (reader.remaining() > kLargeBytes / item_size) {
    large_buffer.reset(new (std::nothrow) std::byte[kLargeBytes]);
  }
  if (large_buffer != nullptr) {
    buffer = large_buffer.get();
    block_count = kLargeBytes / item_size;
  }
  while (reader.remaining() > 0) {
    const std::int64_t count = std::min(block_count, reader.remaining());
    block(reader.Next(count, buffer), count);
  }
}

}  // namespace msprobe
