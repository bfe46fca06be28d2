#include "replay/tensor_spec.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

constexpr std::int64_t kChunk = 4096;

// Conversions between dtypes that the data of a file needs: integers widened exactly, masks by what is not zero,
// everything else through double.
void ConvertElements(DType from, const std::byte* in, DType to, std::byte* out, std::int64_t count) {
  if (from == DType::kInt32 && to == DType::kInt64) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, in + 4 * i, 4);
      const std::int64_t wide = narrow;
      std::memcpy(out + 8 * i, &wide, 8);
    }
    return;
  }
  if (from == DType::kUint8 && to == DType::kBool) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = in[i] == std::byte{0} ? std::byte{0} : std::byte{1};
    return;
  }
  const std::size_t from_size = ItemSize(from);
  const std::size_t to_size = ItemSize(to);
  double buffer[kChunk];
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t n = std::min(kChunk, count - start);
    ConvertToDouble(from, in + static_cast<std::size_t>(start) * from_size, n, buffer);
    ConvertFromDouble(buffer, n, to, out + static_cast<std::size_t>(start) * to_size);
  }
}

void RoundThrough(DType narrow, std::byte* data, std::int64_t count) {
  double buffer[kChunk];
  std::byte rounded[kChunk * 2];
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t n = std::min(kChunk, count - start);
    std::byte* block = data + 4 * start;
    ConvertToDouble(DType::kFloat32, block, n, buffer);
    ConvertFromDouble(buffer, n, narrow, rounded);
    ConvertToDouble(narrow, rounded, n, buffer);
    ConvertFromDouble(buffer, n, DType::kFloat32, block);
  }
}

void Round(InputRounding rounding, std::byte* data, std::int64_t count) {
  switch (rounding) {
    case InputRounding::kNone:
      return;
    case InputRounding::kFloat16:
      return RoundThrough(DType::kFloat16, data, count);
    case InputRounding::kBFloat16:
      return RoundThrough(DType::kBFloat16, data, count);
    case InputRounding::kHf32:
      for (std::int64_t i = 0; i < count; ++i) {
        float value = 0;
        std::memcpy(&value, data + 4 * i, 4);
        value = RoundToHf32(value);
        std::memcpy(data + 4 * i, &value, 4);
      }
  }
}

}  // namespace

float RoundToHf32(float value) {
  constexpr std::uint32_t kSign = 0x80000000U;
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  constexpr std::uint32_t kDropped = 0xFFFU;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~kSign;
  if (magnitude >= kInfinity) return value;
  std::uint32_t rounded = (magnitude + (kDropped + 1) / 2) & ~kDropped;
  if (rounded >= kInfinity) rounded = (kInfinity - 1) & ~kDropped;
  return std::bit_cast<float>((bits & kSign) | rounded);
}

Status FillStorage(TensorSpec& spec, void* out, std::size_t size) {
  const std::size_t item = ItemSize(spec.dtype);
  if (spec.storage_count < 0 || size != static_cast<std::size_t>(spec.storage_count) * item) {
    return Error{ErrorCode::kInternal, "storage of " + spec.position + " has " + std::to_string(size) + " bytes, its " +
                                           std::to_string(spec.storage_count) + " elements need " +
                                           std::to_string(static_cast<std::size_t>(spec.storage_count) * item)};
  }
  auto* bytes = static_cast<std::byte*>(out);
  const std::int64_t count = spec.storage_count - spec.storage_offset;
  std::byte* first = bytes + static_cast<std::size_t>(spec.storage_offset) * item;
  std::fill(bytes, first, std::byte{0});
  if (spec.loaded != nullptr) {
    const LoadedTensor& file = *spec.loaded;
    const std::size_t start = static_cast<std::size_t>(file.storage_offset) * ItemSize(file.dtype);
    const std::size_t needed = static_cast<std::size_t>(count) * ItemSize(file.dtype);
    if (start > file.bytes.size() || needed > file.bytes.size() - start) {
      return Error{ErrorCode::kInput, "the tensor file of " + spec.position + " holds fewer elements than its shape"};
    }
    if (file.dtype == spec.dtype) {
      if (needed > 0) std::memcpy(first, file.bytes.data() + start, needed);
    } else {
      ConvertElements(file.dtype, file.bytes.data() + start, spec.dtype, first, count);
    }
    spec.loaded.reset();
  } else if (spec.strict_upper_triangle && spec.dtype == DType::kBool && spec.shape.size() == 2) {
    for (std::int64_t i = 0; i < count; ++i)
      first[i] = i % spec.shape[1] > i / spec.shape[1] ? std::byte{1} : std::byte{0};
  } else {
    FillRandom(spec.dtype, first, count, spec.range, spec.key);
  }
  if (spec.dtype == DType::kFloat32) Round(spec.rounding, first, count);
  return {};
}

}  // namespace msprobe
