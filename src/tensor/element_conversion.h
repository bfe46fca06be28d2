#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace msprobe {

/// The dtype of a complex dtype's real and imaginary parts; any other dtype itself.
DType ComponentDType(DType dtype);

/// Real numbers in an element: 2 for complex dtypes, else 1.
int ComponentCount(DType dtype);

/// Largest finite value of a floating dtype; its negative is the smallest, but for float8_e8m0fnu, whose values start
/// at 2^-127.
double LargestFinite(DType dtype);

/// Converts `count` real elements (for a complex dtype: components, pass ComponentDType) to double: exact but for
/// 64-bit integers, which are rounded to nearest. bool: 0 and 1.
void ConvertToDouble(DType dtype, const void* data, std::int64_t count, double* out);

/// Same to float, rounding to nearest where the value does not fit.
void ConvertToFloat(DType dtype, const void* data, std::int64_t count, float* out);

/// Converts to a floating dtype. As torch does, the value is rounded to float32 first where the target is narrower than
/// that, then to the target (nearest, ties to even; on overflow infinity, NaN or the largest value, see
/// float_formats.h).
void ConvertFromDouble(const double* data, std::int64_t count, DType dtype, void* out);

}  // namespace msprobe
