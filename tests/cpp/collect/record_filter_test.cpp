#include "collect/record_filter.h"

#include <gtest/gtest.h>

namespace msprobe {
namespace {

DumpSettings With(std::vector<std::string> scope, std::vector<std::string> list, Level level = Level::kL1) {
  DumpSettings settings;
  settings.level = level;
  settings.task_name = "statistics";
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

TEST(RecordFilterTest, AModuleScopeHoldsWhatRunsBetween) {
  RecordFilter filter(With({"Module.a.Net.forward.0", "Module.b.Net.forward.0"}, {}, Level::kMix));
  EXPECT_FALSE(filter.Admit("Torch.add.0.forward"));
  filter.BeginModule("Module.a.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Module.a.Net.forward.0"));
  EXPECT_TRUE(filter.Admit("Torch.add.1.forward"));
  filter.EndModule("Module.a.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Torch.add.2.forward")) << "between the two";
  filter.BeginModule("Module.b.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Module.b.Net.forward.0")) << "the record alone does not close the range";
  EXPECT_TRUE(filter.Admit("Torch.add.3.forward"));
  filter.EndModule("Module.b.Net.forward.0");
  EXPECT_FALSE(filter.Admit("Torch.add.4.forward"));
  EXPECT_FALSE(filter.Admit("Module.a.Net.backward.0"));
}

TEST(RecordFilterTest, OneModuleAsScopeHoldsItsChildren) {
  RecordFilter filter(With({"Module.a.Net.forward.0", "Module.a.Net.forward.0"}, {}, Level::kL0));
  filter.BeginModule("Module.a.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Module.a.Net.forward.0"));
  filter.BeginModule("Module.a.fc.Linear.forward.0");
  EXPECT_TRUE(filter.Admit("Module.a.fc.Linear.forward.0"));
  filter.EndModule("Module.a.fc.Linear.forward.0");
  filter.EndModule("Module.a.Net.forward.0");
  filter.BeginModule("Module.a.Net.forward.1");
  EXPECT_FALSE(filter.Admit("Module.a.Net.forward.1"));
}

TEST(RecordFilterTest, AModuleEndNeedsTheEventNotTheRecord) {
  RecordFilter filter(With({"Module.a.Net.forward.0", "Module.a.Net.forward.0"}, {}, Level::kMix));
  EXPECT_FALSE(filter.Admit("Module.a.Net.forward.0"));
  EXPECT_FALSE(filter.Admit("Torch.add.0.forward"));
}

TEST(RecordFilterTest, EndsOfBothKindsAtMix) {
  RecordFilter filter(With({"Module.a.Net.forward.0", "Torch.add.1.forward"}, {}, Level::kMix));
  EXPECT_FALSE(filter.Admit("Torch.add.0.forward"));
  filter.BeginModule("Module.a.Net.forward.0");
  filter.EndModule("Module.a.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Torch.add.1.forward"));
  EXPECT_FALSE(filter.Admit("Torch.add.2.forward"));
}

TEST(RecordFilterTest, AtMixTheListExpandsModules) {
  RecordFilter filter(With({}, {"block"}, Level::kMix));
  EXPECT_FALSE(filter.Admit("Torch.add.0.forward"));
  filter.BeginModule("Module.block.Net.forward.0");
  EXPECT_TRUE(filter.Admit("Module.block.Net.forward.0"));
  filter.BeginModule("Module.block.fc.Linear.forward.0");
  EXPECT_TRUE(filter.Admit("Torch.add.1.forward"));
  filter.EndModule("Module.block.fc.Linear.forward.0");
  EXPECT_TRUE(filter.Admit("Torch.add.2.forward")) << "the outer module still runs";
  filter.EndModule("Module.block.Net.forward.0");
  EXPECT_FALSE(filter.Admit("Torch.add.3.forward"));
  filter.EndModule("Module.block.Net.forward.7");
  filter.BeginModule("Module.other.Net.forward.0");
  EXPECT_FALSE(filter.Admit("Module.other.Net.forward.0"));
  EXPECT_FALSE(filter.Admit("Torch.add.4.forward")) << "an end without begin, a module that is not named";
}

TEST(RecordFilterTest, ExpansionNeedsAnOpenScopeAndLevelMix) {
  RecordFilter scoped(With({"Torch.a.0.forward", "Torch.b.0.forward"}, {"block"}, Level::kMix));
  scoped.BeginModule("Module.block.Net.forward.0");
  EXPECT_FALSE(scoped.Admit("Torch.add.0.forward"));
  EXPECT_TRUE(scoped.Admit("Torch.a.0.forward"));
  EXPECT_TRUE(scoped.Admit("Torch.add.1.forward"));
  scoped.Reset();
  EXPECT_FALSE(scoped.Admit("Torch.a.0.forward")) << "a step ends every expansion";

  RecordFilter modules(With({}, {"block.Net"}, Level::kL0));
  modules.BeginModule("Module.block.Net.forward.0");
  modules.BeginModule("Module.block.fc.Linear.forward.0");
  EXPECT_FALSE(modules.Admit("Module.block.fc.Linear.forward.0"));
}

TEST(RecordFilterTest, RiskLevelsLeaveApisOut) {
  DumpSettings settings;
  settings.risk_level = RiskLevel::kFocus;
  RecordFilter focus(settings);
  EXPECT_TRUE(focus.Admit("Functional.relu.0.forward"));
  EXPECT_FALSE(focus.Admit("Tensor.view.0.forward"));
  EXPECT_TRUE(focus.Admit("Module.view.View.forward.0")) << "modules are always recorded";
  settings.risk_level = RiskLevel::kCore;
  RecordFilter core(settings);
  EXPECT_FALSE(core.Admit("Functional.relu.0.forward"));
  EXPECT_TRUE(core.Admit("Functional.linear.0.backward"));
  EXPECT_TRUE(core.Admit("Distributed.send.0.forward"));
  EXPECT_TRUE(core.Report().warnings.empty() && core.Report().infos.empty());
}

TEST(RecordFilterTest, TensorListNamesWhatIsSavedWithoutFiltering) {
  DumpSettings settings;
  settings.task_name = "statistics";
  settings.tensor_list = {"=relu", "absent"};
  RecordFilter filter(settings);
  for (const char* name : {"Functional.relu.0.forward", "Functional.leaky_relu.0.forward"}) {
    EXPECT_TRUE(filter.Admit(name));
  }
  for (int times = 0; times < 3; ++times) {
    EXPECT_TRUE(filter.SavesTensors("Functional.relu.0.forward"));
  }
  EXPECT_FALSE(filter.SavesTensors("Functional.leaky_relu.0.forward"));
  const FilterReport report = filter.Report();
  EXPECT_EQ(report.infos, std::vector<std::string>{"tensor_list: \"=relu\" matched 1 record: Functional.relu (1)"});
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_TRUE(report.warnings[0].starts_with("tensor_list: \"absent\" matched no record"));
  settings.tensor_list = {"re:["};
  EXPECT_TRUE(RecordFilter::Check(settings).error().message.starts_with("\"statistics.tensor_list\" holds"));
}

using Lines = std::vector<std::string>;

TEST(RecordFilterReportTest, NothingToSay) {
  RecordFilter all(With({}, {}));
  EXPECT_TRUE(all.Admit("Torch.add.0.forward"));
  EXPECT_TRUE(all.Report().warnings.empty() && all.Report().infos.empty());
  RecordFilter never_asked(With({}, {"relu"}));
  EXPECT_TRUE(never_asked.Report().warnings.empty()) << "a rank or step that is not collected";
}

TEST(RecordFilterReportTest, WhatEachElementMatched) {
  RecordFilter filter(With({}, {"relu", "=Torch.add"}));
  for (const char* name : {"Functional.relu.0.forward", "Functional.relu.1.forward", "Functional.leaky_relu.0.forward",
                           "Torch.add.0.forward", "Torch.mul.0.forward"}) {
    filter.Admit(name);
  }
  filter.Reset();
  EXPECT_EQ(filter.Report().infos, (Lines{"list: \"relu\" matched 3 records: Functional.relu (2), "
                                          "Functional.leaky_relu (1)",
                                          "list: \"=Torch.add\" matched 1 record: Torch.add (1)"}));
  EXPECT_TRUE(filter.Report().warnings.empty());
}

TEST(RecordFilterReportTest, WhatMatchedNothingWithTheNearestNames) {
  RecordFilter filter(
      With({}, {"rellu", "=F.ReLU", "Torch.add.5.forward", "Torch.add.0.backward", "re:^norm", "zzzzzz"}));
  for (const char* name : {"Torch.mul.0.forward", "Torch.add.0.forward", "Torch.add.1.forward",
                           "Functional.relu.0.forward", "Functional.leaky_relu.0.forward"}) {
    EXPECT_FALSE(filter.Admit(name));
  }
  const std::string examples = "what occurred is for example \"Torch.mul\", \"Torch.add\", \"Functional.relu\"";
  EXPECT_EQ(
      filter.Report().warnings,
      (Lines{"list: \"rellu\" matched no record; the nearest that occurred: \"Functional.relu\"",
             "list: \"=F.ReLU\" matched no record; the nearest that occurred: \"Functional.relu\"",
             "list: \"Torch.add.5.forward\" matched no record; \"Torch.add\" occurred with the numbers 0 to 1, "
             "forward only",
             "list: \"Torch.add.0.backward\" matched no record; \"Torch.add\" occurred with the numbers 0 to 1, "
             "forward only",
             "list: \"re:^norm\" matched no record; " + examples, "list: \"zzzzzz\" matched no record; " + examples}));
}

TEST(RecordFilterReportTest, AScopeThatNeverBegins) {
  RecordFilter filter(With({"Torch.ad.0.forward", "Torch.mul.0.forward"}, {}));
  filter.Admit("Torch.add.0.forward");
  filter.Admit("Torch.mul.0.forward");
  EXPECT_EQ(filter.Report().warnings, (Lines{"scope: \"Torch.ad.0.forward\" never occurred, so no record was kept; the "
                                             "nearest that occurred: \"Torch.add\""}));
}

TEST(RecordFilterReportTest, AScopeThatNeverEnds) {
  RecordFilter never(With({"Torch.add.0.forward", "Torch.mul.1.forward"}, {}));
  RecordFilter before(With({"Torch.add.0.forward", "Torch.mul.0.forward"}, {}));
  for (RecordFilter* filter : {&never, &before}) {
    filter->Admit("Torch.mul.0.forward");
    filter->Admit("Torch.add.0.forward");
  }
  EXPECT_EQ(never.Report().warnings,
            (Lines{"scope: \"Torch.mul.1.forward\" never occurred, so the scope stayed open to the end of the step; "
                   "\"Torch.mul\" occurred with the number 0, forward only"}));
  EXPECT_EQ(before.Report().warnings,
            (Lines{"scope: \"Torch.mul.0.forward\" occurred only before \"Torch.add.0.forward\", so the scope stayed "
                   "open to the end of the step"}));
}

TEST(RecordFilterReportTest, AScopeOfModules) {
  RecordFilter filter(With({"Module.a.Net.forward.0", "Module.a.Net.forward.1"}, {}, Level::kL0));
  filter.BeginModule("Module.a.Net.forward.0");
  filter.Admit("Module.a.Net.forward.0");
  filter.EndModule("Module.a.Net.forward.0");
  EXPECT_EQ(filter.Report().warnings,
            (Lines{"scope: \"Module.a.Net.forward.1\" never occurred, so the scope stayed open to the end of the step; "
                   "\"Module.a.Net\" occurred with the number 0, forward only"}));
}

TEST(RecordFilterReportTest, MatchesOutsideTheScope) {
  RecordFilter filter(With({"Torch.a.0.forward", "Torch.b.0.forward"}, {"relu", "add"}));
  for (const char* name : {"Functional.relu.0.forward", "Torch.a.0.forward", "Torch.add.0.forward", "Torch.b.0.forward",
                           "Torch.add.1.forward"}) {
    filter.Admit(name);
  }
  EXPECT_EQ(filter.Report().warnings, (Lines{"list: \"relu\" matched 1 record, all outside the scope"}));
  EXPECT_EQ(filter.Report().infos,
            (Lines{"list: \"add\" matched 2 records: Torch.add (2); 1 of them inside the scope"}));
}

TEST(RecordFilterReportTest, StaysShortAndBounded) {
  Lines elements;
  for (int i = 0; i < 1000; ++i) {
    elements.push_back("absent" + std::to_string(i));
  }
  elements.emplace_back("Torch");
  elements.push_back(std::string(100'000, 'x'));
  RecordFilter filter(With({}, elements));
  for (int i = 0; i < 20'000; ++i) {
    filter.Admit("Torch.api" + std::to_string(i) + ".0.forward");
  }
  const FilterReport report = filter.Report();
  EXPECT_EQ(report.warnings.size(), 21U);
  EXPECT_EQ(report.warnings.back(), "list: 981 more elements matched no record");
  ASSERT_EQ(report.infos.size(), 1U);
  EXPECT_NE(report.infos[0].find("matched 20000 records: Torch.api0 (1)"), std::string::npos);
  EXPECT_NE(report.infos[0].find("others (19992)"), std::string::npos);
  for (const std::string& line : report.warnings) EXPECT_LT(line.size(), 600U);
}

TEST(RecordFilterTest, AnExpressionThatCannotBeUsedIsNamed) {
  EXPECT_TRUE(RecordFilter::Check(With({}, {"relu", "re:relu$"})).ok());
  const Status status = RecordFilter::Check(With({}, {"re:("}));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInput);
  EXPECT_TRUE(status.error().message.starts_with("\"statistics.list\" holds \"re:(\", which is no usable"))
      << status.error().message;
}

}  // namespace
}  // namespace msprobe
