#include "record/tensor_extent.h"

#include <algorithm>

namespace msprobe {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62U;

}  // namespace

std::optional<TensorExtent> ComputeExtent(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                                          std::size_t item_size) {
  if (shape.size() != strides.size()) return std::nullopt;
  const std::int64_t limit = kMaxBytes / static_cast<std::int64_t>(item_size);
  TensorExtent extent;
  extent.count = 1;
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    if (__builtin_mul_overflow(extent.count, std::max<std::int64_t>(size, 1), &extent.count) || extent.count > limit) {
      return std::nullopt;
    }
  }
  if (empty) return TensorExtent();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach)) return std::nullopt;
    std::int64_t& end = reach < 0 ? extent.lowest : extent.highest;
    if (__builtin_add_overflow(end, reach, &end) || extent.highest > limit || extent.lowest < -limit) {
      return std::nullopt;
    }
  }
  return extent;
}

std::vector<std::int64_t> RowMajorStrides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace msprobe
