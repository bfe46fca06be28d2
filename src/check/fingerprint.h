#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace msprobe {

/// A 64-bit hash that tells two inputs apart by chance, not against intent: it notices that a run is resumed with
/// another dump. The same on every machine. Text is taken in eight bytes at a time, each piece with its length.
class Fingerprint {
 public:
  void Add(std::string_view text);
  std::string Hex() const;  ///< 16 digits

 private:
  void Mix(std::uint64_t word);

  std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace msprobe
