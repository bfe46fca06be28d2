#pragma once

#include <algorithm>

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
  alignas(64) std::byte buffer[kBlockBytes];
  const std::int64_t block_count = static_cast<std::int64_t>(kBlockBytes / ItemSize(view.dtype));
  BlockReader reader(view);
  while (reader.remaining() > 0) {
    const std::int64_t count = std::min(block_count, reader.remaining());
    block(reader.Next(count, buffer), count);
  }
}

}  // namespace msprobe
