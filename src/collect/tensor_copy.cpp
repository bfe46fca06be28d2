#include "collect/tensor_copy.h"

#include <cstring>

namespace msprobe {
namespace {

/// Elements from the lowest to the highest address that a view touches, and how many lie before its first element.
struct StorageRange {
  std::int64_t before = 0;
  std::int64_t count = 0;
};

StorageRange RangeOf(const TensorView& view) {
  StorageRange range;
  std::int64_t after = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) {
      return {};
    }
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? range.before : after) += reach < 0 ? -reach : reach;
  }
  range.count = range.before + after + 1;
  return range;
}

}  // namespace

TensorCopy CopyTensor(const TensorView& view) {
  TensorCopy copy;
  copy.dtype = view.dtype;
  copy.shape.assign(view.shape.begin(), view.shape.end());
  const std::size_t item = ItemSize(view.dtype);
  const std::int64_t count = ElementCount(view);
  if (!view.strides.empty() && !IsContiguous(view)) {
    const StorageRange range = RangeOf(view);
    if (range.count > 0 && range.count <= count) {
      copy.strides.assign(view.strides.begin(), view.strides.end());
      copy.bytes.resize(static_cast<std::size_t>(range.count) * item);
      copy.data_offset = static_cast<std::size_t>(range.before) * item;
      std::memcpy(copy.bytes.data(), static_cast<const std::byte*>(view.data) - copy.data_offset, copy.bytes.size());
      return copy;
    }
  }
  copy.bytes.resize(static_cast<std::size_t>(count) * item);
  CopyContiguous(view, copy.bytes.data());
  return copy;
}

}  // namespace msprobe
