#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace msprobe {
namespace {

TEST(DType, NamesAndSizes) {
  struct Row {
    DType dtype;
    std::size_t size;
    const char* name;
  };
  const Row rows[] = {
      {DType::kBool, 1, "bool"},
      {DType::kUint8, 1, "uint8"},
      {DType::kInt8, 1, "int8"},
      {DType::kUint16, 2, "uint16"},
      {DType::kInt16, 2, "int16"},
      {DType::kUint32, 4, "uint32"},
      {DType::kInt32, 4, "int32"},
      {DType::kUint64, 8, "uint64"},
      {DType::kInt64, 8, "int64"},
      {DType::kFloat8E4M3Fn, 1, "float8_e4m3fn"},
      {DType::kFloat8E4M3Fnuz, 1, "float8_e4m3fnuz"},
      {DType::kFloat8E5M2, 1, "float8_e5m2"},
      {DType::kFloat8E5M2Fnuz, 1, "float8_e5m2fnuz"},
      {DType::kFloat8E8M0Fnu, 1, "float8_e8m0fnu"},
      {DType::kFloat16, 2, "float16"},
      {DType::kBFloat16, 2, "bfloat16"},
      {DType::kFloat32, 4, "float32"},
      {DType::kFloat64, 8, "float64"},
      {DType::kComplex32, 4, "complex32"},
      {DType::kComplex64, 8, "complex64"},
      {DType::kComplex128, 16, "complex128"},
  };
  ASSERT_EQ(std::size(rows), static_cast<std::size_t>(kDTypeCount));
  for (const Row& row : rows) {
    EXPECT_EQ(ItemSize(row.dtype), row.size) << row.name;
    EXPECT_EQ(ShortName(row.dtype), row.name);
    EXPECT_EQ(TorchName(row.dtype), std::string("torch.") + row.name);
    EXPECT_EQ(ParseDType(row.name), row.dtype);
    EXPECT_EQ(ParseDType(TorchName(row.dtype)), row.dtype);
    const bool is_float8 = std::string(row.name).starts_with("float8");
    const bool is_floating = std::string(row.name).find("float") != std::string::npos;
    const bool is_complex = std::string(row.name).starts_with("complex");
    EXPECT_EQ(IsFloat8(row.dtype), is_float8) << row.name;
    EXPECT_EQ(IsFloating(row.dtype), is_floating) << row.name;
    EXPECT_EQ(IsComplex(row.dtype), is_complex) << row.name;
    EXPECT_EQ(IsInteger(row.dtype), !is_floating && !is_complex && row.dtype != DType::kBool) << row.name;
  }
}

TEST(DType, ParsesAliasesAndMindSporeNames) {
  EXPECT_EQ(ParseDType("torch.half"), DType::kFloat16);
  EXPECT_EQ(ParseDType("torch.float"), DType::kFloat32);
  EXPECT_EQ(ParseDType("torch.double"), DType::kFloat64);
  EXPECT_EQ(ParseDType("torch.short"), DType::kInt16);
  EXPECT_EQ(ParseDType("torch.int"), DType::kInt32);
  EXPECT_EQ(ParseDType("torch.long"), DType::kInt64);
  EXPECT_EQ(ParseDType("torch.chalf"), DType::kComplex32);
  EXPECT_EQ(ParseDType("torch.cfloat"), DType::kComplex64);
  EXPECT_EQ(ParseDType("torch.cdouble"), DType::kComplex128);
  EXPECT_EQ(ParseDType("Float32"), DType::kFloat32);
  EXPECT_EQ(ParseDType("BFloat16"), DType::kBFloat16);
  EXPECT_EQ(ParseDType("Int64"), DType::kInt64);
  EXPECT_EQ(ParseDType("UInt8"), DType::kUint8);
  EXPECT_EQ(ParseDType("Bool"), DType::kBool);
  EXPECT_EQ(ParseDType("Complex64"), DType::kComplex64);
}

TEST(DType, RefusesUnknownNames) {
  for (const char* name : {"", "torch.", "torch.Float32", "torch.torch.float32", "float33", "FLOAT32", " float32",
                           "torch.float4_e2m1fn_x2", "torch_npu.HiFloat8Tensor"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace msprobe
