#include "replay/case_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "check/rows_json.h"
#include "record/tensor_file.h"
#include "replay/error_data.h"
#include "replay_fixture.h"

namespace msprobe {
namespace {

OutputValue Tensor(const std::vector<float>& values) {
  OutputValue value;
  value.kind = OutputValue::Kind::kTensor;
  value.tensor.dtype = DType::kFloat32;
  value.tensor.shape = {static_cast<std::int64_t>(values.size())};
  value.tensor.data = values.data();
  return value;
}

OutputValue Sequence(std::vector<OutputValue> items) {
  OutputValue value;
  value.kind = OutputValue::Kind::kSequence;
  value.items = std::move(items);
  return value;
}

const std::vector<float> kGood = {1, 2, 3};
const std::vector<float> kBad = {1, 2, -3};

Case NamedCase(const std::string& api = "mul") {
  Case plan;
  plan.name = "Torch." + api + ".0";
  plan.api = api;
  return plan;
}

TEST(CaseReport, ForwardAndBackwardRows) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  EXPECT_EQ(report.CompareForward(Tensor(kGood), Tensor(kGood)), Verdict::kPass);
  EXPECT_EQ(report.CompareBackward(Sequence({Tensor(kGood), OutputValue{}}), Sequence({Tensor(kBad), OutputValue{}})),
            Verdict::kError);
  EXPECT_TRUE(report.NeedsSaving());
  const CaseRows rows = report.Finish();
  EXPECT_EQ(rows.forward, "pass");
  EXPECT_EQ(rows.backward, "error");
  EXPECT_EQ(rows.message, "");
  ASSERT_EQ(rows.details.size(), 3u);
  EXPECT_EQ(rows.details[0][0], "Torch.mul.0.forward.output.0");
  EXPECT_EQ(rows.details[2][0], "Torch.mul.0.backward.output.1");
  EXPECT_EQ(rows.details[2][21], "SKIP");
}

TEST(CaseReport, NoBackwardIsBlank) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kGood));
  EXPECT_FALSE(report.NeedsSaving());
  const CaseRows rows = report.Finish();
  EXPECT_EQ(rows.backward, " ");
  EXPECT_EQ(rows.details.size(), 1u);
}

TEST(CaseReport, SkippedBackwardHasARowAndAMessage) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kGood));
  report.SkipBackward("one");
  report.SkipBackward("two");
  const CaseRows rows = report.Finish();
  EXPECT_EQ(rows.forward, "pass");
  EXPECT_EQ(rows.backward, "SKIP");
  EXPECT_NE(rows.message.find("one; two"), std::string::npos);
  ASSERT_EQ(rows.details.size(), 2u);
  EXPECT_EQ(rows.details[1][0], "Torch.mul.0.backward.output.0");
  EXPECT_EQ(rows.details[1][22], "one; two");
}

TEST(CaseReport, WithoutTensorArgumentsTheBackwardIsBlank) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kGood));
  report.CompareBackward(Sequence({}), Sequence({}));
  EXPECT_EQ(report.Finish().backward, " ");
}

TEST(CaseReport, NoneIsSkip) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  report.CompareForward(OutputValue{}, OutputValue{});
  const CaseRows rows = report.Finish();
  EXPECT_EQ(rows.forward, "SKIP");
  EXPECT_FALSE(rows.message.empty());
  EXPECT_EQ(rows.details.size(), 1u);
}

TEST(CaseReport, DropoutComparesOneGradient) {
  Case plan = NamedCase("dropout");
  plan.treatment = Treatment::kDropout;
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kBad));
  report.CompareBackward(Sequence({Tensor(kGood), Tensor(kGood)}), Sequence({Tensor(kBad), Tensor(kBad)}));
  const CaseRows rows = report.Finish();
  EXPECT_EQ(rows.forward, "pass");
  EXPECT_EQ(rows.details.size(), 2u);
}

TEST(CaseReport, TheNoteStandsInEveryMessage) {
  Case plan = NamedCase();
  plan.note = "changed";
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kGood));
  EXPECT_EQ(report.Finish().details[0][22].rfind("changed; ", 0), 0u);
}

TEST(RowsMessage, IsWhatTheParentReads) {
  const Case plan = NamedCase();
  CaseReport report(plan, 14);
  report.CompareForward(Tensor(kGood), Tensor(kGood));
  const std::string message = RowsMessage(12, report.Finish());
  EXPECT_EQ(message.rfind(R"({"type": "rows", "index": 12, )", 0), 0u);
  const auto rows = ParseRowsJson(message);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows.value().forward, "pass");
  EXPECT_EQ(rows.value().details.size(), 1u);
}

TEST(SaveErrorData, NumbersLeavesAcrossCalls) {
  TemporaryFolder folder;
  const std::string target = folder.path() + "/ut_error_data20240101000000";
  OutputValue mapping;
  mapping.kind = OutputValue::Kind::kMapping;
  mapping.keys = {"w"};
  mapping.items.push_back(Tensor(kBad));
  OutputValue integer;
  integer.kind = OutputValue::Kind::kInteger;
  std::size_t index = 0;
  ASSERT_TRUE(SaveErrorData(target, "Torch.mul.0", ErrorDataPart::kForwardInput,
                            Sequence({Tensor(kGood), integer, Sequence({OutputValue{}, Tensor(kGood)})}), index)
                  .ok());
  EXPECT_EQ(index, 4u);
  ASSERT_TRUE(SaveErrorData(target, "Torch.mul.0", ErrorDataPart::kForwardInput, mapping, index).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(target)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"Torch.mul.0.forward.input.0.pt", "Torch.mul.0.forward.input.3.pt",
                                             "Torch.mul.0.forward.input.4.pt"}));
  const auto loaded = ReadPtFile(target + "/Torch.mul.0.forward.input.4.pt");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value().shape, std::vector<std::int64_t>{3});
}

TEST(SaveErrorData, NamesCannotLeaveTheFolder) {
  TemporaryFolder folder;
  std::size_t index = 0;
  EXPECT_FALSE(SaveErrorData(folder.path(), "Torch.../x.0", ErrorDataPart::kForwardInput, Tensor(kGood), index).ok());
}

}  // namespace
}  // namespace msprobe
