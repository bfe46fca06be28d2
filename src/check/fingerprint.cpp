#include "check/fingerprint.h"

#include <bit>

namespace msprobe {
namespace {

/// Finaliser of MurmurHash3 (public domain): every input bit reaches every output bit.
std::uint64_t Scramble(std::uint64_t x) {
  x ^= x >> 33U;
  x *= 0xFF51AFD7ED558CCDULL;
  x ^= x >> 33U;
  x *= 0xC4CEB9FE1A85EC53ULL;
  x ^= x >> 33U;
  return x;
}

std::uint64_t LittleEndianWord(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8U * i);
  }
  return word;
}

}  // namespace

void Fingerprint::Mix(std::uint64_t word) { state_ = std::rotl(state_ ^ Scramble(word), 29) * 5 + 0x52DCE729ULL; }

void Fingerprint::Add(std::string_view text) {
  Mix(text.size());
  while (text.size() >= 8) {
    Mix(LittleEndianWord(text.data(), 8));
    text.remove_prefix(8);
  }
  if (!text.empty()) Mix(LittleEndianWord(text.data(), text.size()));
}

std::string Fingerprint::Hex() const {
  constexpr char kDigits[] = "0123456789abcdef";
  const std::uint64_t value = Scramble(state_);
  std::string out(16, '0');
  for (unsigned i = 0; i < 16; ++i) out[i] = kDigits[(value >> (60U - 4U * i)) & 15U];
  return out;
}

}  // namespace msprobe
