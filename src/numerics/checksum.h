#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/tensor_view.h"

namespace msprobe {

/// CRC-32 (zlib polynomial, initial value 0) of `size` bytes, continued from `crc`.
std::uint32_t Crc32(std::uint32_t crc, const void* data, std::size_t size);

/// The dump's key "md5": CRC-32 of the elements' bytes in row-major order; bfloat16 as float32 (spec decisions 10 and
/// 12).
std::uint32_t TensorChecksum(const TensorView& view);

/// Eight lower-case hexadecimal digits.
std::array<char, 8> ChecksumText(std::uint32_t crc);

}  // namespace msprobe
