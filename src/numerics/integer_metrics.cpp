#include "numerics/integer_metrics.h"

#include "numerics/pair_reader.h"

namespace msprobe {
namespace {

constexpr std::int64_t kChunk = kBlockElements;

template <typename T>
void Widen(const void* data, std::int64_t count, std::int64_t* out) {
  const auto* elements = static_cast<const T*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::int64_t>(elements[i]);
  }
}

// uint64 keeps its bits.
void WidenIntegers(DType dtype, const void* data, std::int64_t count, std::int64_t* out) {
  switch (dtype) {
    case DType::kBool: {
      const auto* bytes = static_cast<const std::uint8_t*>(data);
      for (std::int64_t i = 0; i < count; ++i) {
        out[i] = bytes[i] != 0 ? 1 : 0;
      }
      return;
    }
    case DType::kUint8:
      return Widen<std::uint8_t>(data, count, out);
    case DType::kInt8:
      return Widen<std::int8_t>(data, count, out);
    case DType::kUint16:
      return Widen<std::uint16_t>(data, count, out);
    case DType::kInt16:
      return Widen<std::int16_t>(data, count, out);
    case DType::kUint32:
      return Widen<std::uint32_t>(data, count, out);
    case DType::kInt32:
      return Widen<std::int32_t>(data, count, out);
    case DType::kUint64:
      return Widen<std::uint64_t>(data, count, out);
    default:
      return Widen<std::int64_t>(data, count, out);
  }
}

double Value(std::int64_t bits, bool is_unsigned) {
  return is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(bits)) : static_cast<double>(bits);
}

// The absolute difference of the values: exact in 65 bits, then rounded.
double Difference(std::int64_t a, bool a_is_unsigned, std::int64_t b, bool b_is_unsigned) {
  const bool a_is_negative = !a_is_unsigned && a < 0;
  const bool b_is_negative = !b_is_unsigned && b < 0;
  const auto a_bits = static_cast<std::uint64_t>(a);
  const auto b_bits = static_cast<std::uint64_t>(b);
  if (a_is_negative != b_is_negative) {
    const std::uint64_t magnitude = a_is_negative ? b_bits : a_bits;
    const std::uint64_t negated = a_is_negative ? 0 - a_bits : 0 - b_bits;
    return static_cast<double>(magnitude) + static_cast<double>(negated);
  }
  return static_cast<double>(a_bits > b_bits ? a_bits - b_bits : b_bits - a_bits);
}

}  // namespace

IntegerDifferences CompareIntegers(const TensorView& device, const TensorView& bench) {
  IntegerDifferences result;
  const bool device_is_unsigned = device.dtype == DType::kUint64;
  const bool bench_is_unsigned = bench.dtype == DType::kUint64;
  ForEachPair(device, bench, kChunk,
              [&](const void* device_data, const void* bench_data, std::int64_t first, std::int64_t count) {
                std::int64_t a[kChunk];
                std::int64_t b[kChunk];
                WidenIntegers(device.dtype, device_data, count, a);
                WidenIntegers(bench.dtype, bench_data, count, b);
                result.count += static_cast<std::uint64_t>(count);
                for (std::int64_t i = 0; i < count; ++i) {
                  // Equal bits mean different values where one is unsigned and the other negative.
                  if (a[i] == b[i] && (device_is_unsigned == bench_is_unsigned || a[i] >= 0)) {
                    continue;
                  }
                  ++result.different_count;
                  const double difference = Difference(a[i], device_is_unsigned, b[i], bench_is_unsigned);
                  if (difference > result.max_difference) {
                    result.max_difference = difference;
                    result.max_difference_index = first + i;
                    result.max_difference_device = Value(a[i], device_is_unsigned);
                    result.max_difference_bench = Value(b[i], bench_is_unsigned);
                  }
                }
              });
  return result;
}

}  // namespace msprobe
