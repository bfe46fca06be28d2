#include "record/zip_crc32.h"

#include <array>
#include <bit>
#include <cstring>

namespace msprobe {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320U;
constexpr std::size_t kSlices = 16;

/// kTables[k][b]: what byte b does to the register when k more bytes follow it ("slicing").
constexpr std::array<std::array<std::uint32_t, 256>, kSlices> kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kSlices> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kSlices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}();

std::uint32_t Step(std::uint32_t crc, unsigned char byte) { return (crc >> 8U) ^ kTables[0][(crc ^ byte) & 0xFFU]; }

}  // namespace

std::uint32_t ZipCrc32(std::uint32_t crc, const void* data, std::size_t size) {
  static_assert(std::endian::native == std::endian::little);
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= kSlices; size -= kSlices, bytes += kSlices) {
    std::array<std::uint32_t, 4> words;
    std::memcpy(words.data(), bytes, kSlices);
    words[0] ^= crc;
    crc = 0;
    for (std::size_t word = 0; word < 4; ++word) {
      for (std::size_t byte = 0; byte < 4; ++byte) {
        crc ^= kTables[kSlices - 1 - 4 * word - byte][(words[word] >> (8 * byte)) & 0xFFU];
      }
    }
  }
  for (; size > 0; --size, ++bytes) crc = Step(crc, *bytes);
  return ~crc;
}

}  // namespace msprobe
