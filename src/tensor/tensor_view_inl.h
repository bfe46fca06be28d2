#pragma once

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
  BlockSource source(view);
  std::int64_t count = 0;
  for (const void* data = source.Next(&count); count > 0; data = source.Next(&count)) {
    block(data, count);
  }
}

}  // namespace msprobe
