#include "tensor/dtype.h"

#include <array>
#include <utility>

namespace msprobe {
namespace {

struct DTypeInfo {
  std::uint8_t size;
  std::string_view torch_name;
};

constexpr std::string_view kTorchPrefix = "torch.";

// In the order of the enumeration.
constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
    {1, "torch.bool"},
    {1, "torch.uint8"},
    {1, "torch.int8"},
    {2, "torch.uint16"},
    {2, "torch.int16"},
    {4, "torch.uint32"},
    {4, "torch.int32"},
    {8, "torch.uint64"},
    {8, "torch.int64"},
    {1, "torch.float8_e4m3fn"},
    {1, "torch.float8_e4m3fnuz"},
    {1, "torch.float8_e5m2"},
    {1, "torch.float8_e5m2fnuz"},
    {1, "torch.float8_e8m0fnu"},
    {2, "torch.float16"},
    {2, "torch.bfloat16"},
    {4, "torch.float32"},
    {8, "torch.float64"},
    {4, "torch.complex32"},
    {8, "torch.complex64"},
    {16, "torch.complex128"},
}};

constexpr std::array<std::pair<std::string_view, DType>, 9> kTorchAliases = {{
    {"half", DType::kFloat16},
    {"float", DType::kFloat32},
    {"double", DType::kFloat64},
    {"short", DType::kInt16},
    {"int", DType::kInt32},
    {"long", DType::kInt64},
    {"chalf", DType::kComplex32},
    {"cfloat", DType::kComplex64},
    {"cdouble", DType::kComplex128},
}};

// As MindSpore prints its dtypes.
constexpr std::array<std::pair<std::string_view, DType>, 17> kMindSporeNames = {{
    {"Bool", DType::kBool},
    {"UInt8", DType::kUint8},
    {"Int8", DType::kInt8},
    {"UInt16", DType::kUint16},
    {"Int16", DType::kInt16},
    {"UInt32", DType::kUint32},
    {"Int32", DType::kInt32},
    {"UInt64", DType::kUint64},
    {"Int64", DType::kInt64},
    {"Float8E4M3FN", DType::kFloat8E4M3Fn},
    {"Float8E5M2", DType::kFloat8E5M2},
    {"Float16", DType::kFloat16},
    {"BFloat16", DType::kBFloat16},
    {"Float32", DType::kFloat32},
    {"Float64", DType::kFloat64},
    {"Complex64", DType::kComplex64},
    {"Complex128", DType::kComplex128},
}};

}  // namespace

std::size_t ItemSize(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size; }

std::string_view TorchName(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].torch_name; }

std::string_view MindSporeName(DType dtype) {
  for (const auto& [name, known] : kMindSporeNames) {
    if (known == dtype) {
      return name;
    }
  }
  return {};
}

std::string_view ShortName(DType dtype) { return TorchName(dtype).substr(kTorchPrefix.size()); }

std::optional<DType> ParseDType(std::string_view name) {
  const bool has_prefix = name.starts_with(kTorchPrefix);
  const std::string_view short_name = has_prefix ? name.substr(kTorchPrefix.size()) : name;
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (ShortName(static_cast<DType>(i)) == short_name) {
      return static_cast<DType>(i);
    }
  }
  for (const auto& [alias, dtype] : kTorchAliases) {
    if (alias == short_name) {
      return dtype;
    }
  }
  if (!has_prefix) {
    for (const auto& [mindspore_name, dtype] : kMindSporeNames) {
      if (mindspore_name == name) {
        return dtype;
      }
    }
  }
  return std::nullopt;
}

bool IsFloating(DType dtype) { return dtype >= DType::kFloat8E4M3Fn && dtype <= DType::kFloat64; }

bool IsFloat8(DType dtype) { return dtype >= DType::kFloat8E4M3Fn && dtype <= DType::kFloat8E8M0Fnu; }

bool IsInteger(DType dtype) { return dtype >= DType::kUint8 && dtype <= DType::kInt64; }

bool IsComplex(DType dtype) { return dtype >= DType::kComplex32; }

}  // namespace msprobe
