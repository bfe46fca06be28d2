#include "config/risk_level.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

TEST(RiskLevelTest, Names) {
  EXPECT_EQ(ParseRiskLevel("CORE"), RiskLevel::kCore);
  EXPECT_EQ(ParseRiskLevel("FOCUS"), RiskLevel::kFocus);
  EXPECT_EQ(ParseRiskLevel("ALL"), RiskLevel::kAll);
  EXPECT_EQ(ParseRiskLevel(""), RiskLevel::kAll);
}

TEST(RiskLevelTest, WhatIsRecorded) {
  for (const char* api : {"linear", "matmul", "conv2d", "layer_norm", "embedding", "scaled_dot_product_attention",
                          "__matmul__", "addmm_", "sparse.mm"}) {
    EXPECT_TRUE(IsRecordedAt(RiskLevel::kCore, "Functional", api)) << api;
    EXPECT_TRUE(IsRecordedAt(RiskLevel::kFocus, "Functional", api)) << api;
  }
  for (const char* api : {"relu", "add", "softmax", "add_", "linalg.norm", "cross_entropy"}) {
    EXPECT_FALSE(IsRecordedAt(RiskLevel::kCore, "Torch", api)) << api;
    EXPECT_TRUE(IsRecordedAt(RiskLevel::kFocus, "Torch", api)) << api;
  }
  for (const char* api : {"reshape", "view", "transpose", "transpose_", "cat", "to", "float", "zeros", "arange",
                          "clone", "__getitem__"}) {
    EXPECT_FALSE(IsRecordedAt(RiskLevel::kFocus, "Tensor", api)) << api;
    EXPECT_TRUE(IsRecordedAt(RiskLevel::kAll, "Tensor", api)) << api;
  }
  for (const char* group : {"NPU", "MindSpeed", "Distributed"}) {
    EXPECT_TRUE(IsRecordedAt(RiskLevel::kCore, group, "view")) << group;
  }
}

}  // namespace
}  // namespace msprobe
