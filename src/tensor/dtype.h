#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe {

/// Element type of a tensor: every dtype of torch that has plain memory, MindSpore's are a subset.
enum class DType : std::uint8_t {
  kBool,
  kUint8,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kUint64,
  kInt64,
  kFloat8E4M3Fn,
  kFloat8E4M3Fnuz,
  kFloat8E5M2,
  kFloat8E5M2Fnuz,
  kFloat8E8M0Fnu,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
};
inline constexpr int kDTypeCount = 21;

/// Bytes of one element.
std::size_t ItemSize(DType dtype);

/// Name without prefix: "float32", "bfloat16", "float8_e4m3fn", "complex64", "bool".
std::string_view ShortName(DType dtype);

/// Name as PyTorch prints it and as dump.json holds it: "torch.float32".
std::string_view TorchName(DType dtype);
/// "Float32", empty for what MindSpore does not have.
std::string_view MindSporeName(DType dtype);

/// Accepts "torch.float32", "float32" and torch's aliases ("torch.half", "torch.float", "torch.double", "torch.long",
/// "torch.int", "torch.short", "torch.cfloat", "torch.cdouble", "torch.chalf") and MindSpore's "Float32", "BFloat16",
/// "Int64", "Bool". Nothing for an unknown name.
std::optional<DType> ParseDType(std::string_view name);

bool IsFloating(DType dtype);  ///< fp8 variants, float16, bfloat16, float32, float64
bool IsFloat8(DType dtype);
bool IsInteger(DType dtype);  ///< all integers, bool not among them
bool IsComplex(DType dtype);

}  // namespace msprobe
