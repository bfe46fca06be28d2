#include "numerics/random.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Elements generated at a time; a multiple of what one counter gives.
constexpr std::int64_t kChunk = 1024;

// Element i of a stream takes 32 bits (four a counter) or 64 bits (two a counter).
void Generate32(const Philox& philox, std::int64_t first, std::int64_t count, std::uint32_t* out) {
  std::uint32_t bits[4];
  for (std::int64_t i = 0; i < count; i += 4) {
    philox.Generate(static_cast<std::uint64_t>(first + i) / 4, bits);
    std::memcpy(out + i, bits, static_cast<std::size_t>(std::min<std::int64_t>(4, count - i)) * 4);
  }
}

void Generate64(const Philox& philox, std::int64_t first, std::int64_t count, std::uint64_t* out) {
  std::uint32_t bits[4];
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      philox.Generate(static_cast<std::uint64_t>(first + i) / 2, bits);
    }
    out[i] = bits[i % 2 * 2] | static_cast<std::uint64_t>(bits[i % 2 * 2 + 1]) << 32U;
  }
}

// Numbers of [0, 1) in steps of 2^-53 for float64, 2^-32 for narrower dtypes.
void GenerateUniform(const Philox& philox, bool wide, std::int64_t first, std::int64_t count, double* out) {
  if (wide) {
    std::uint64_t bits[kChunk];
    Generate64(philox, first, count, bits);
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<double>(bits[i] >> 11U) * 0x1p-53;
    }
    return;
  }
  std::uint32_t bits[kChunk];
  Generate32(philox, first, count, bits);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(bits[i]) * 0x1p-32;
  }
}

double Round(DType dtype, double value) {
  std::uint64_t code = 0;
  double rounded = 0;
  ConvertFromDouble(&value, 1, dtype, &code);
  ConvertToDouble(dtype, &code, 1, &rounded);
  return rounded;
}

// The neighbour of a value of `dtype` in the direction given; `value` is not the last one there.
double Neighbour(DType dtype, double value, bool up) {
  std::uint64_t code = 0;
  ConvertFromDouble(&value, 1, dtype, &code);
  const std::uint64_t sign = std::uint64_t{1} << (ItemSize(dtype) * 8 - 1);
  const bool has_sign = dtype != DType::kFloat8E8M0Fnu;
  if (has_sign && value == 0) {
    code = up ? 1 : sign | 1U;
  } else {
    const bool larger_magnitude = !has_sign || (value > 0) == up;
    code = larger_magnitude == (has_sign || up) ? code + 1 : code - 1;
    if (has_sign && (code & ~sign) == 0) {
      return 0;
    }
  }
  double neighbour = 0;
  ConvertToDouble(dtype, &code, 1, &neighbour);
  return neighbour;
}

struct Ends {
  double low;
  double high;
};

// The ends in the dtype: cut to its range and rounded inwards; to nearest where no value lies between them.
Ends EndsInDType(DType dtype, double low, double high) {
  const double largest = LargestFinite(dtype);
  const double smallest = dtype == DType::kFloat8E8M0Fnu ? 0x1p-127 : -largest;
  low = std::clamp(low, smallest, largest);
  high = std::clamp(high, smallest, largest);
  const double nearest_low = Round(dtype, low);
  const double nearest_high = Round(dtype, high);
  const double inner_low = nearest_low < low ? Neighbour(dtype, nearest_low, true) : nearest_low;
  const double inner_high = nearest_high > high ? Neighbour(dtype, nearest_high, false) : nearest_high;
  return inner_low <= inner_high ? Ends{inner_low, inner_high} : Ends{nearest_high, nearest_high};
}

// Writes single elements of a floating or complex tensor.
class Pins {
 public:
  Pins(DType dtype, void* out) : dtype_(dtype), out_(static_cast<std::byte*>(out)) {}

  void Set(std::int64_t index, double value) {
    // A complex number with infinite or real value has no imaginary part; a NaN has two.
    const double components[2] = {value, std::isnan(value) ? value : 0.0};
    ConvertFromDouble(components, ComponentCount(dtype_), ComponentDType(dtype_),
                      out_ + index * static_cast<std::int64_t>(ItemSize(dtype_)));
  }

 private:
  DType dtype_;
  std::byte* out_;
};

void FillUniform(DType dtype, std::byte* out, std::int64_t count, const Ends& ends, const Philox& philox) {
  double values[kChunk];
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t length = std::min(kChunk, count - start);
    GenerateUniform(philox, dtype == DType::kFloat64, start, length, values);
    for (std::int64_t i = 0; i < length; ++i) {
      // As two products: the difference of the ends may be beyond the range of double.
      const double value = ends.low * (1.0 - values[i]) + ends.high * values[i];
      values[i] = std::clamp(value, ends.low, ends.high);
    }
    ConvertFromDouble(values, length, dtype, out + start * static_cast<std::int64_t>(ItemSize(dtype)));
  }
}

void FillComplex(DType dtype, std::byte* out, std::int64_t count, const Ends& ends, const Philox& philox) {
  const DType component = ComponentDType(dtype);
  const double largest = ends.high * 0x1.6A09E667F3BCCp-1;  // divided by the square root of 2
  double values[kChunk];
  for (std::int64_t start = 0; start < 2 * count; start += kChunk) {
    const std::int64_t length = std::min(kChunk, 2 * count - start);
    GenerateUniform(philox, dtype == DType::kComplex128, start, length, values);
    for (std::int64_t i = 0; i < length; i += 2) {
      double real = largest * (2.0 * values[i] - 1.0);
      double imaginary = largest * (2.0 * values[i + 1] - 1.0);
      // Relative to the upper end, so that squares stay in range.
      const double x = 2.0 * values[i] - 1.0;
      const double y = 2.0 * values[i + 1] - 1.0;
      const double absolute = largest * std::sqrt(x * x + y * y);
      if (absolute == 0) {
        real = ends.low;
      } else if (absolute < ends.low) {
        real *= ends.low / absolute;
        imaginary *= ends.low / absolute;
      }
      values[i] = real;
      values[i + 1] = imaginary;
    }
    ConvertFromDouble(values, length, component, out + start * static_cast<std::int64_t>(ItemSize(component)));
  }
}

// accuracy_checker.md 7.3, the pins: NaN takes the second place of three, the first of two, and none of one.
void PinEnds(Pins pins, std::int64_t count, const Ends& ends, const RandomRange& range) {
  const std::int64_t last = count - 1;
  if (range.contains_nan) {
    pins.Set(0, count <= 2 ? kNan : ends.low);
    if (count > 2) {
      pins.Set(1, kNan);
    }
    pins.Set(last, ends.high);
    return;
  }
  pins.Set(0, ends.low);
  pins.Set(last, ends.high);
  if (range.has_positive_infinity || range.high == kInfinity) {
    pins.Set(last, kInfinity);
  }
  if (range.has_negative_infinity || range.low == -kInfinity) {
    pins.Set(0, -kInfinity);
  }
}

void FillFloating(DType dtype, void* out, std::int64_t count, RandomRange range, std::uint64_t key) {
  Pins pins(dtype, out);
  const bool has_nan_end = range.low_is_nan || range.high_is_nan || std::isnan(range.low) || std::isnan(range.high);
  if (has_nan_end && (!range.contains_nan || std::isnan(range.low) || std::isnan(range.high))) {
    for (std::int64_t i = 0; i < count; ++i) {
      pins.Set(i, kNan);
    }
    return;
  }
  if (range.low > range.high) {
    std::swap(range.low, range.high);
  }
  const bool equal_infinities = std::isinf(range.low) && range.low == range.high;
  if (equal_infinities || (range.nothing_finite && std::isinf(range.high))) {
    for (std::int64_t i = 0; i < count; ++i) {
      pins.Set(i, range.high);
    }
    if (count > 1) {
      pins.Set(0, range.contains_nan && count == 2 ? kNan : range.low);
    }
    if (range.contains_nan && count > 2) {
      pins.Set(1, kNan);
    }
    return;
  }
  const DType component = ComponentDType(dtype);
  auto* bytes = static_cast<std::byte*>(out);
  if (IsComplex(dtype)) {
    const double low = std::max(range.low, 0.0);
    const Ends ends = EndsInDType(component, low, std::max(range.high, low));
    FillComplex(dtype, bytes, count, ends, Philox(key));
    range.low = low;
    range.has_negative_infinity = false;
    PinEnds(pins, count, ends, range);
    return;
  }
  const Ends ends = EndsInDType(component, range.low, range.high);
  FillUniform(dtype, bytes, count, ends, Philox(key));
  PinEnds(pins, count, ends, range);
}

__extension__ using Uint128 = unsigned __int128;

// `low` and `span` (high - low) as bits: the arithmetic is modulo 2^64 for signed and unsigned alike.
template <typename T>
void FillInteger(void* out, std::int64_t count, std::uint64_t low, std::uint64_t span, const Philox& philox) {
  auto* elements = static_cast<T*>(out);
  std::uint64_t bits[kChunk];
  for (std::int64_t start = 0; start < count; start += kChunk) {
    const std::int64_t length = std::min(kChunk, count - start);
    Generate64(philox, start, length, bits);
    for (std::int64_t i = 0; i < length; ++i) {
      // The upper half of the product with the number of values; its bias is below 2^-64 a value.
      const auto offset = span == std::numeric_limits<std::uint64_t>::max()
                              ? bits[i]
                              : static_cast<std::uint64_t>((static_cast<Uint128>(bits[i]) * (span + 1)) >> 64U);
      elements[start + i] = static_cast<T>(low + offset);
    }
  }
  elements[0] = static_cast<T>(low);
  elements[count - 1] = static_cast<T>(low + span);
}

template <typename T>
void FillInteger(void* out, std::int64_t count, const RandomRange& range, std::uint64_t key) {
  // Wide enough for the ends as recorded: T's own signedness, 64 bits.
  using Wide = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
  Wide low = static_cast<Wide>(range.integer_low);
  Wide high = static_cast<Wide>(range.integer_high);
  if (low > high) {
    std::swap(low, high);
  }
  constexpr Wide kLowest = std::numeric_limits<T>::lowest();
  constexpr Wide kHighest = std::numeric_limits<T>::max();
  low = std::clamp(low, kLowest, kHighest);
  high = std::clamp(high, kLowest, kHighest);
  const auto low_bits = static_cast<std::uint64_t>(low);
  FillInteger<T>(out, count, low_bits, static_cast<std::uint64_t>(high) - low_bits, Philox(key));
}

}  // namespace

void Philox4x32(const std::uint32_t counter[4], const std::uint32_t key[2], std::uint32_t out[4]) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;  // golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;  // square root of 3, minus 1
  std::uint32_t c0 = counter[0];
  std::uint32_t c1 = counter[1];
  std::uint32_t c2 = counter[2];
  std::uint32_t c3 = counter[3];
  std::uint32_t k0 = key[0];
  std::uint32_t k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * c0;
    const std::uint64_t product1 = kMultiplier1 * c2;
    const std::uint32_t next0 = static_cast<std::uint32_t>(product1 >> 32U) ^ c1 ^ k0;
    const std::uint32_t next2 = static_cast<std::uint32_t>(product0 >> 32U) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(product1);
    c3 = static_cast<std::uint32_t>(product0);
    c0 = next0;
    c2 = next2;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

void Philox::Generate(std::uint64_t counter, std::uint32_t out[4]) const {
  const std::uint32_t words[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), 0,
                                  0};
  const std::uint32_t key[2] = {static_cast<std::uint32_t>(key_), static_cast<std::uint32_t>(key_ >> 32U)};
  Philox4x32(words, key, out);
}

std::uint64_t RandomKey(std::uint64_t seed, std::string_view api_name, std::string_view position) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 0x100000001B3U; };
  for (int i = 0; i < 8; ++i) {
    add(static_cast<std::uint8_t>(seed >> (8 * i)));
  }
  for (const char c : api_name) {
    add(static_cast<std::uint8_t>(c));
  }
  add(0);
  for (const char c : position) {
    add(static_cast<std::uint8_t>(c));
  }
  hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
  return hash ^ (hash >> 31U);
}

void FillRandom(DType dtype, void* out, std::int64_t count, const RandomRange& range, std::uint64_t key) {
  if (count <= 0) {
    return;
  }
  switch (dtype) {
    case DType::kBool: {
      RandomRange bool_range = range;
      bool_range.integer_low = range.integer_low > 0 ? 1 : 0;
      bool_range.integer_high = range.integer_high > 0 ? 1 : 0;
      return FillInteger<std::uint8_t>(out, count, bool_range, key);
    }
    case DType::kUint8:
      return FillInteger<std::uint8_t>(out, count, range, key);
    case DType::kInt8:
      return FillInteger<std::int8_t>(out, count, range, key);
    case DType::kUint16:
      return FillInteger<std::uint16_t>(out, count, range, key);
    case DType::kInt16:
      return FillInteger<std::int16_t>(out, count, range, key);
    case DType::kUint32:
      return FillInteger<std::uint32_t>(out, count, range, key);
    case DType::kInt32:
      return FillInteger<std::int32_t>(out, count, range, key);
    case DType::kUint64:
      return FillInteger<std::uint64_t>(out, count, range, key);
    case DType::kInt64:
      return FillInteger<std::int64_t>(out, count, range, key);
    default:
      return FillFloating(dtype, out, count, range, key);
  }
}

}  // namespace msprobe
