#include "tensor/element_conversion.h"

#include <limits>

#include "tensor/float_formats.h"

namespace msprobe {
namespace {

template <typename Source, typename Target, typename Convert>
void ConvertEach(const void* data, std::int64_t count, Target* out, Convert convert) {
  const auto* source = static_cast<const Source*>(data);
  for (std::int64_t i = 0; i < count; ++i) {
    out[i] = convert(source[i]);
  }
}

template <typename Format, typename Target>
void ConvertFloat8(const void* data, std::int64_t count, Target* out) {
  ConvertEach<std::uint8_t>(data, count, out,
                            [](std::uint8_t code) { return static_cast<Target>(kFloat8Table<Format>[code]); });
}

template <typename Source, typename Target>
void ConvertNumber(const void* data, std::int64_t count, Target* out) {
  ConvertEach<Source>(data, count, out, [](Source value) { return static_cast<Target>(value); });
}

template <typename Target>
void ConvertReal(DType dtype, const void* data, std::int64_t count, Target* out) {
  switch (dtype) {
    case DType::kBool:
      return ConvertEach<std::uint8_t>(data, count, out,
                                       [](std::uint8_t value) { return static_cast<Target>(value != 0 ? 1 : 0); });
    case DType::kUint8:
      return ConvertNumber<std::uint8_t>(data, count, out);
    case DType::kInt8:
      return ConvertNumber<std::int8_t>(data, count, out);
    case DType::kUint16:
      return ConvertNumber<std::uint16_t>(data, count, out);
    case DType::kInt16:
      return ConvertNumber<std::int16_t>(data, count, out);
    case DType::kUint32:
      return ConvertNumber<std::uint32_t>(data, count, out);
    case DType::kInt32:
      return ConvertNumber<std::int32_t>(data, count, out);
    case DType::kUint64:
      return ConvertNumber<std::uint64_t>(data, count, out);
    case DType::kInt64:
      return ConvertNumber<std::int64_t>(data, count, out);
    case DType::kFloat8E4M3Fn:
      return ConvertFloat8<Float8E4M3FnFormat>(data, count, out);
    case DType::kFloat8E4M3Fnuz:
      return ConvertFloat8<Float8E4M3FnuzFormat>(data, count, out);
    case DType::kFloat8E5M2:
      return ConvertFloat8<Float8E5M2Format>(data, count, out);
    case DType::kFloat8E5M2Fnuz:
      return ConvertFloat8<Float8E5M2FnuzFormat>(data, count, out);
    case DType::kFloat8E8M0Fnu:
      return ConvertFloat8<Float8E8M0FnuFormat>(data, count, out);
    case DType::kFloat16:
    case DType::kComplex32:
      return ConvertEach<std::uint16_t>(data, count, out,
                                        [](std::uint16_t value) { return static_cast<Target>(HalfToFloat(value)); });
    case DType::kBFloat16:
      return ConvertEach<std::uint16_t>(
          data, count, out, [](std::uint16_t value) { return static_cast<Target>(BFloat16ToFloat(value)); });
    case DType::kFloat32:
    case DType::kComplex64:
      return ConvertNumber<float>(data, count, out);
    case DType::kFloat64:
    case DType::kComplex128:
      return ConvertNumber<double>(data, count, out);
  }
}

template <typename Format>
void NarrowToFloat8(const double* data, std::int64_t count, void* out) {
  ConvertEach<double>(data, count, static_cast<std::uint8_t*>(out),
                      [](double value) { return Format::FromFloat(static_cast<float>(value)); });
}

}  // namespace

DType ComponentDType(DType dtype) {
  switch (dtype) {
    case DType::kComplex32:
      return DType::kFloat16;
    case DType::kComplex64:
      return DType::kFloat32;
    case DType::kComplex128:
      return DType::kFloat64;
    default:
      return dtype;
  }
}

int ComponentCount(DType dtype) { return IsComplex(dtype) ? 2 : 1; }

double LargestFinite(DType dtype) {
  switch (ComponentDType(dtype)) {
    case DType::kFloat8E4M3Fn:
      return 448.0;
    case DType::kFloat8E4M3Fnuz:
      return 240.0;
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2Fnuz:
      return 57344.0;
    case DType::kFloat8E8M0Fnu:
      return 0x1p127;
    case DType::kFloat16:
      return 65504.0;
    case DType::kBFloat16:
      return 0x1.FEp127;
    case DType::kFloat32:
      return static_cast<double>(std::numeric_limits<float>::max());
    default:
      return std::numeric_limits<double>::max();
  }
}

void ConvertToDouble(DType dtype, const void* data, std::int64_t count, double* out) {
  ConvertReal(dtype, data, count, out);
}

void ConvertToFloat(DType dtype, const void* data, std::int64_t count, float* out) {
  ConvertReal(dtype, data, count, out);
}

void ConvertFromDouble(const double* data, std::int64_t count, DType dtype, void* out) {
  switch (ComponentDType(dtype)) {
    case DType::kFloat8E4M3Fn:
      return NarrowToFloat8<Float8E4M3FnFormat>(data, count, out);
    case DType::kFloat8E4M3Fnuz:
      return NarrowToFloat8<Float8E4M3FnuzFormat>(data, count, out);
    case DType::kFloat8E5M2:
      return NarrowToFloat8<Float8E5M2Format>(data, count, out);
    case DType::kFloat8E5M2Fnuz:
      return NarrowToFloat8<Float8E5M2FnuzFormat>(data, count, out);
    case DType::kFloat8E8M0Fnu:
      return NarrowToFloat8<Float8E8M0FnuFormat>(data, count, out);
    case DType::kFloat16:
      return ConvertEach<double>(data, count, static_cast<std::uint16_t*>(out),
                                 [](double value) { return FloatToHalf(static_cast<float>(value)); });
    case DType::kBFloat16:
      return ConvertEach<double>(data, count, static_cast<std::uint16_t*>(out),
                                 [](double value) { return FloatToBFloat16(static_cast<float>(value)); });
    case DType::kFloat32:
      return ConvertNumber<double>(data, count, static_cast<float*>(out));
    default:
      return ConvertNumber<double>(data, count, static_cast<double*>(out));
  }
}

}  // namespace msprobe
