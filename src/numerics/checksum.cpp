#include "numerics/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>

#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

std::uint32_t AddBFloat16AsFloat(std::uint32_t crc, const void* data, std::int64_t count) {
  constexpr std::int64_t kChunk = 4096;
  float values[kChunk];
  const auto* elements = static_cast<const std::uint16_t*>(data);
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t length = std::min(kChunk, count - start);
    ConvertToFloat(DType::kBFloat16, elements + start, length, values);
    crc = Crc32(crc, values, static_cast<std::size_t>(length) * sizeof(float));
  }
  return crc;
}

}  // namespace

std::uint32_t Crc32(std::uint32_t crc, const void* data, std::size_t size) {
  return crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), size);
}

std::uint32_t TensorChecksum(const TensorView& view) {
  std::uint32_t crc = 0;
  const std::size_t item_size = ItemSize(view.dtype);
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    crc = view.dtype == DType::kBFloat16 ? AddBFloat16AsFloat(crc, data, count)
                                         : Crc32(crc, data, static_cast<std::size_t>(count) * item_size);
  });
  return crc;
}

std::array<char, 8> ChecksumText(std::uint32_t crc) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<char, 8> text{};
  for (std::size_t i = 8; i-- > 0; crc >>= 4U) {
    text[i] = kDigits[crc & 0xFU];
  }
  return text;
}

}  // namespace msprobe
