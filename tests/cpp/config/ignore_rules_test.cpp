#include "config/ignore_rules.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "config/custom_ops.h"

namespace msprobe {
namespace {

TEST(IgnoreRulesTest, TheBuiltInRules) {
  const Result<IgnoreRules> rules = IgnoreRules::Load("");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  const IgnoreRule* receive = rules->Find("Distributed.irecv");
  ASSERT_NE(receive, nullptr);
  EXPECT_TRUE(receive->input.Has(0));
  EXPECT_TRUE(receive->input.Has("tensor"));
  EXPECT_FALSE(receive->input.Has(1));
  EXPECT_FALSE(receive->input.Has("src"));
  EXPECT_TRUE(receive->output.empty());
  const IgnoreRule* attention = rules->Find("NPU.npu_fusion_attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_TRUE(attention->output.Has(4) && attention->output.Has(5));
  EXPECT_TRUE(rules->Find("Distributed.gather")->input.Has(1));
  EXPECT_TRUE(rules->Find("Distributed.isend")->output.Has(0));
  EXPECT_EQ(rules->Find("Distributed.all_reduce"), nullptr);
}

TEST(IgnoreRulesTest, ReadsAnEditedFile) {
  TemporaryFolder folder;
  const Result<IgnoreRules> rules =
      IgnoreRules::Load(folder.Write("rules.yaml", "Torch:\n  add: {input: all}\n  mul: {output: []}\nTensor:\n"));
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_TRUE(rules->Find("Torch.add")->input.Has(17));
  EXPECT_TRUE(rules->Find("Torch.add")->input.Has("alpha"));
  EXPECT_TRUE(rules->Find("Torch.mul")->output.empty());
  EXPECT_EQ(rules->Find("Distributed.recv"), nullptr);
}

TEST(IgnoreRulesTest, ErrorsNameFileLineAndKey) {
  TemporaryFolder folder;
  for (const char* text :
       {"Torch: [a]\n", "Torch:\n  add: [0]\n", "Torch:\n  add: {inputs: [0]}\n", "Torch:\n  add: {input: some}\n",
        "Torch:\n  add: {input: [-1]}\n", "Torch:\n  add: {input: [[0]]}\n", "Torch:\n  add: {input: {a: 0}}\n",
        "Torch:\n  [1]: {input: all}\n", "Torch:\n  add: {[1]: all}\n", "Torch:\n  add: {input: ['']}\n"}) {
    const Result<IgnoreRules> rules = IgnoreRules::Load(folder.Write("rules.yaml", text));
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_NE(rules.error().message.find("rules.yaml, line "), std::string::npos) << rules.error().message;
    EXPECT_EQ(rules.error().message.find('\n'), std::string::npos);
  }
}

TEST(CustomOpsTest, TheBuiltInFileIsEmpty) {
  const Result<CustomOps> ops = LoadCustomOps("");
  ASSERT_TRUE(ops.ok()) << ops.error().message;
  EXPECT_TRUE(ops->modules.empty() && ops->warnings.empty());
}

TEST(CustomOpsTest, WhatCannotBeANameIsLeftOut) {
  TemporaryFolder folder;
  const Result<CustomOps> ops =
      LoadCustomOps(folder.Write("ops.yaml",
                                 "my_package.ops:\n  - fused\n  - fused\n  - 'a b'\n  - x.y\n  - 1a\n  - _ok\n"
                                 "bad..path: [f]\n'os; import sys': [f]\n" +
                                     std::string(300, 'a') + ": [f]\nempty:\nonly.bad: ['']\n"));
  ASSERT_TRUE(ops.ok()) << ops.error().message;
  ASSERT_EQ(ops->modules.size(), 1U);
  EXPECT_EQ(ops->modules[0].path, "my_package.ops");
  EXPECT_EQ(ops->modules[0].functions, (std::vector<std::string>{"fused", "_ok"}));
  EXPECT_EQ(ops->warnings.size(), 7U);
  EXPECT_NE(ops->warnings[0].find("ops.yaml, line 2: \"my_package.ops\" holds \"a b\", which is left out"),
            std::string::npos)
      << ops->warnings[0];
  EXPECT_FALSE(LoadCustomOps(folder.Write("ops.yaml", "a.b: f\n")).ok());
}

}  // namespace
}  // namespace msprobe
