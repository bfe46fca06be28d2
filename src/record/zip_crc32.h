#pragma once

#include <cstddef>
#include <cstdint>

namespace msprobe {

/// CRC-32 of ZIP members (zlib's polynomial, initial value 0), continued from `crc`. Portable, a few GB/s; it stands
/// here because record/ is linked where numerics/ with its accelerated Crc32 is not (spec decisions 45).
std::uint32_t ZipCrc32(std::uint32_t crc, const void* data, std::size_t size);

}  // namespace msprobe
