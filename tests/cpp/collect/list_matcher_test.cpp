#include "collect/list_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace msprobe {
namespace {

// Whether the single element matches; the index must be there once.
bool Matches(const std::string& element, std::string_view name) {
  ListMatcher matcher({element});
  const std::vector<std::size_t>& found = matcher.Find(name);
  EXPECT_LE(found.size(), 1U) << element << " " << name;
  return !found.empty();
}

std::string Refusal(const std::string& element) {
  const Status status = ListMatcher::Check({"relu", element});
  return status.ok() ? std::string() : status.error().message;
}

TEST(ListMatcherTest, APlainElementIsAPartOfTheName) {
  EXPECT_TRUE(Matches("relu", "Functional.leaky_relu.0.forward"));
  EXPECT_TRUE(Matches("", "Functional.relu.0.forward")) << "as in the reference";
  EXPECT_FALSE(Matches("Relu", "Functional.relu.0.forward"));
}

TEST(ListMatcherTest, AnExactElementIsTheNameOrItsApi) {
  const char* name = "Functional.relu.3.forward";
  for (const char* element : {"=relu", "=Functional.relu", "=Functional.relu.3", "=Functional.relu.3.forward"}) {
    EXPECT_TRUE(Matches(element, name)) << element;
  }
  for (const char* element : {"=rel", "=elu", "=Functional", "=relu.3", "=Functional.relu.3.backward", "=Tensor.relu",
                              "=relu.3.forward", "=3", "=forward", "=Functional.relu."}) {
    EXPECT_FALSE(Matches(element, name)) << element;
  }
  EXPECT_TRUE(Matches("=relu", "Tensor.relu.0.backward"));
  EXPECT_FALSE(Matches("=relu", "Functional.leaky_relu.0.forward"));
  EXPECT_FALSE(Matches("=Functional.relu.3", "Functional.relu.30.forward"));
  EXPECT_TRUE(Matches("=linalg.norm", "Torch.linalg.norm.0.forward"));
  EXPECT_FALSE(Matches("=norm", "Torch.linalg.norm.0.forward"));
  EXPECT_TRUE(Matches("=saved", "saved")) << "a name of no known form is a whole name all the same";
}

TEST(ListMatcherTest, AnExactElementNamesAModuleByPathOrClass) {
  const char* name = "Module.block.fc1.Linear.forward.0";
  for (const char* element : {"=Module.block.fc1.Linear.forward.0", "=Module.block.fc1.Linear", "=block.fc1.Linear",
                              "=block.fc1", "=Linear"}) {
    EXPECT_TRUE(Matches(element, name)) << element;
  }
  for (const char* element : {"=fc1", "=block", "=fc1.Linear", "=Module", "=Module.block.fc1"}) {
    EXPECT_FALSE(Matches(element, name)) << element;
  }
  EXPECT_TRUE(Matches("=Linear", "Module.Linear.Linear.forward.0"));
  EXPECT_TRUE(Matches("=fc1", "Module.fc1.Linear.parameters_grad.0"));
}

TEST(ListMatcherTest, AnExpressionIsSearched) {
  EXPECT_TRUE(Matches("re:relu|gelu", "Functional.gelu.0.forward"));
  EXPECT_TRUE(Matches("re:^Torch\\..*\\.[0-3]\\.", "Torch.linalg.norm.2.forward"));
  EXPECT_FALSE(Matches("re:^relu", "Functional.relu.0.forward"));
  EXPECT_TRUE(Matches("re:x*", "\xFF\xFE")) << "bytes that are no text";
}

TEST(ListMatcherTest, AllElementsThatMatchAreFound) {
  ListMatcher matcher({"relu", "=relu", "re:relu", "add", "=relu"});
  std::vector<std::size_t> found = matcher.Find("Functional.relu.0.forward");
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::size_t>{0, 1, 2, 4}));
  EXPECT_TRUE(matcher.Find("Torch.mul.0.forward").empty());
}

TEST(ListMatcherTest, WhatCannotBeUsedIsRefusedByName) {
  EXPECT_EQ(Refusal("Functional.relu"), "");
  EXPECT_EQ(Refusal("re:(a+)+$"), "");
  EXPECT_NE(Refusal("re:(relu").find("\"re:(relu\", which is no usable regular expression: missing ): (relu"),
            std::string::npos)
      << Refusal("re:(relu");
  for (const char* element :
       {"re:(?=a)", "re:(a)\\1", "re:[z-a]", "re:*", "re:\xFF", "re:(((a{1000}){1000}){1000})", "re:", "=", "re:a\\"}) {
    EXPECT_NE(Refusal(element), "") << element;
    EXPECT_FALSE(Matches(element, "a")) << element << " must be harmless";
  }
  EXPECT_NE(Refusal("re:" + std::string(200'000, '(')), "") << "depth is no danger";
}

TEST(ListMatcherTest, EvaluationIsLinear) {
  ListMatcher matcher({"re:(a*)*(a*)*(a|a)*b$", "re:(x+x+)+y"});
  const std::string name = std::string(200'000, 'a') + std::string(200'000, 'x');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(matcher.Find(name).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "a backtracker needs ages";
}

}  // namespace
}  // namespace msprobe
