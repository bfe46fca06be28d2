#include "collect/record_filter.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

DumpSettings With(std::vector<std::string> scope, std::vector<std::string> list) {
  DumpSettings settings;
  settings.scope = std::move(scope);
  settings.list = std::move(list);
  return settings;
}

TEST(RecordFilterTest, NothingConfiguredTakesEverything) {
  RecordFilter filter(With({}, {}));
  EXPECT_TRUE(filter.Admit("Torch.add.0.forward"));
}

TEST(RecordFilterTest, ListTakesSubstrings) {
  RecordFilter filter(With({}, {"relu", "Tensor.permute.1.forward"}));
  EXPECT_TRUE(filter.Admit("Functional.relu.0.forward"));
  EXPECT_TRUE(filter.Admit("Functional.leaky_relu.0.backward"));
  EXPECT_TRUE(filter.Admit("Tensor.permute.1.forward"));
  EXPECT_FALSE(filter.Admit("Tensor.permute.11.forward"));
  EXPECT_FALSE(filter.Admit("Tensor.permute.1.backward"));
}

TEST(RecordFilterTest, ScopeIsARunTimeRangeWithBothEnds) {
  RecordFilter filter(With({"Torch.a.0.forward", "Torch.b.0.backward"}, {}));
  EXPECT_FALSE(filter.Admit("Torch.x.0.forward"));
  EXPECT_TRUE(filter.Admit("Torch.a.0.forward"));
  EXPECT_TRUE(filter.Admit("Torch.x.1.forward"));
  EXPECT_TRUE(filter.Admit("Torch.b.0.backward"));
  EXPECT_FALSE(filter.Admit("Torch.a.0.backward"));
}

TEST(RecordFilterTest, OneNameTwiceIsThatRecordAlone) {
  RecordFilter filter(With({"Torch.a.0.forward", "Torch.a.0.forward"}, {}));
  EXPECT_TRUE(filter.Admit("Torch.a.0.forward"));
  EXPECT_FALSE(filter.Admit("Torch.a.0.backward"));
}

TEST(RecordFilterTest, AnOpenScopeClosesWithTheStep) {
  RecordFilter filter(With({"Torch.a.0.forward", "Torch.never.0.forward"}, {}));
  EXPECT_TRUE(filter.Admit("Torch.a.0.forward"));
  filter.Reset();
  EXPECT_FALSE(filter.Admit("Torch.x.0.forward"));
}

TEST(RecordFilterTest, ScopeAndListBothHold) {
  RecordFilter filter(With({"Torch.a.0.forward", "Torch.z.0.forward"}, {"add"}));
  EXPECT_FALSE(filter.Admit("Torch.a.0.forward")) << "opens the scope although the list leaves it out";
  EXPECT_TRUE(filter.Admit("Torch.add.0.forward"));
  EXPECT_FALSE(filter.Admit("Torch.mul.0.forward"));
}

}  // namespace
}  // namespace msprobe
