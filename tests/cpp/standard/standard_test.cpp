#include "standard/standard.h"

#include <gtest/gtest.h>

#include "standard/api_lists.h"

namespace msprobe {
namespace {

TEST(ChooseAlgorithm, OneApiOfEachListInFloat32) {
  EXPECT_EQ(ChooseAlgorithm("conv2d", "torch.float32"), Algorithm::kThousandth);
  EXPECT_EQ(ChooseAlgorithm("topk", "torch.float32"), Algorithm::kBinary);
  EXPECT_EQ(ChooseAlgorithm("__imul__", "torch.float32"), Algorithm::kAbsoluteThreshold);
  EXPECT_EQ(ChooseAlgorithm("linear", "torch.float32"), Algorithm::kUlp);
  EXPECT_EQ(ChooseAlgorithm("gelu", "torch.float32"), Algorithm::kBenchmark);
}

TEST(ChooseAlgorithm, DtypeDecidesBeforeTheLists) {
  for (const char* dtype : {"torch.float16", "torch.bfloat16", "torch.float32"}) {
    EXPECT_EQ(ChooseAlgorithm("mul", dtype), Algorithm::kAbsoluteThreshold) << dtype;
    EXPECT_EQ(ChooseAlgorithm("exp", dtype), Algorithm::kBenchmark) << dtype;
  }
  for (const char* dtype :
       {"torch.int64", "torch.bool", "torch.uint8", "<class 'int'>", "<class 'str'>", "unheard of"}) {
    EXPECT_EQ(ChooseAlgorithm("mul", dtype), Algorithm::kBinary) << dtype;
    EXPECT_EQ(ChooseAlgorithm("exp", dtype), Algorithm::kBinary) << dtype;
  }
  // The thousandth list stands before the dtype (precision_standards.md 4, row 2).
  EXPECT_EQ(ChooseAlgorithm("conv1d", "torch.int32"), Algorithm::kThousandth);
}

TEST(ChooseAlgorithm, Float64AndComplexAreOutsideTheStandard) {
  for (const char* dtype : {"torch.float64", "torch.double", "torch.complex64", "torch.complex128"}) {
    for (const char* api : {"conv2d", "topk", "mul", "matmul", "exp"}) {
      EXPECT_EQ(ChooseAlgorithm(api, dtype), std::nullopt) << api << " " << dtype;
    }
  }
}

TEST(ChooseAlgorithm, NamesAreMatchedExactly) {
  EXPECT_EQ(ChooseAlgorithm("linalg.matmul", "torch.float32"), Algorithm::kBenchmark);
  EXPECT_EQ(ChooseAlgorithm("Mul", "torch.float32"), Algorithm::kBenchmark);
  EXPECT_EQ(ChooseAlgorithm("multiply", "torch.float32"), Algorithm::kBenchmark);
  EXPECT_EQ(ChooseAlgorithm("conv3d", "torch.float32"), Algorithm::kBenchmark);
  EXPECT_EQ(ChooseAlgorithm("", "torch.float32"), Algorithm::kBenchmark);
}

TEST(ChooseAlgorithm, Float8IsJudgedAsFloat16) {
  EXPECT_EQ(ChooseAlgorithm("matmul", "torch.float8_e4m3fn"), Algorithm::kUlp);
  EXPECT_EQ(ChooseAlgorithm("gelu", "torch.float8_e5m2"), Algorithm::kBenchmark);
}

TEST(Lists, DoNotOverlap) {
  for (const auto& name : kAbsoluteThresholdApis) {
    EXPECT_FALSE(InBinaryList(name) || InUlpList(name) || InThousandthList(name)) << name;
  }
  for (const auto& name : kUlpApis) EXPECT_FALSE(InBinaryList(name) || InThousandthList(name)) << name;
  for (const auto& name : kBinaryApis) EXPECT_TRUE(InBinaryList(name)) << name;
}

TEST(Limits, AreThePublishedNumbers) {
  const auto half = LimitsFor("mul", DType::kFloat16);
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->small_value, 1e-3);
  EXPECT_EQ(half->small_value_absolute_tolerance, 1e-5);
  EXPECT_EQ(half->relative_tolerance, 1e-3);
  EXPECT_EQ(LimitsFor("mul", DType::kBFloat16)->relative_tolerance, 4e-3);
  const auto single = LimitsFor("gelu", DType::kFloat32);
  ASSERT_TRUE(single.has_value());
  EXPECT_EQ(single->small_value, 1e-6);
  EXPECT_EQ(single->small_value_absolute_tolerance, 1e-9);
  EXPECT_EQ(single->relative_tolerance, 1e-6);
  EXPECT_EQ(LimitsFor("mul", DType::kFloat8E4M3Fn)->relative_tolerance, 1e-3);
  EXPECT_FALSE(LimitsFor("mul", DType::kFloat64).has_value());
  EXPECT_FALSE(LimitsFor("mul", DType::kInt32).has_value());
}

TEST(AlgorithmTitle, IsTheColumnText) {
  EXPECT_EQ(AlgorithmTitle(Algorithm::kBenchmark), "标杆比对法");
  EXPECT_EQ(AlgorithmTitle(Algorithm::kUlp), "ULP误差比对法");
}

}  // namespace
}  // namespace msprobe
