#include "check/plan.h"

#include "check/api_name.h"
#include "check/check_samples.h"
#include "check/filter_signature.h"
#include "check/fingerprint.h"

namespace msprobe {
namespace {

TEST(ApiName, AnyNumberOfSegmentsFromThree) {
  const auto plain = ParseApiName("Functional.linear.0");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->type, "Functional");
  EXPECT_EQ(plain->name, "linear");
  EXPECT_EQ(plain->number, "0");
  EXPECT_EQ(ParseApiName("Torch.linalg.inv.0")->name, "linalg.inv");
  EXPECT_EQ(ParseApiName("Functional.a.b.c.12")->name, "a.b.c");
  for (const char* bad :
       {"", "Torch", "Torch.0", "Torch.add", "Torch.add.x", "Torch..0", ".add.0", "Torch.add.", "Torch.add.-1"}) {
    EXPECT_FALSE(ParseApiName(bad)) << bad;
  }
}

TEST(RecordName, JudgedByFirstAndLastSegmentOnly) {
  EXPECT_EQ(ParseRecordName("Aten.log_sigmoid_forward.0.backward").kind, RecordKind::kBackward);
  EXPECT_EQ(ParseRecordName("Aten.log_sigmoid_forward.0.backward").full_name, "Aten.log_sigmoid_forward.0");
  EXPECT_EQ(ParseRecordName("Tensor.Module.0.forward").kind, RecordKind::kForward);
  EXPECT_EQ(ParseRecordName("Module.fc.Linear.forward.0").kind, RecordKind::kIgnored);
  EXPECT_EQ(ParseRecordName("Cell.fc.Dense.backward.0").kind, RecordKind::kIgnored);
  EXPECT_EQ(ParseRecordName("fc.weight.parameters_grad.0").kind, RecordKind::kIgnored);
  EXPECT_EQ(ParseRecordName("forward").kind, RecordKind::kUnknown);
  EXPECT_EQ(ParseRecordName("Torch.add.0").kind, RecordKind::kUnknown);
}

class PlanTest : public ::testing::Test {
 protected:
  Result<CheckPlan> Make(const std::string& data, const PlanRequest& request = {}) {
    path_ = folder_.path() + "/dump.json";
    WriteText(path_, "{\"task\": \"statistics\", \"data\": {" + data + "}}");
    auto index = IndexDump(path_);
    EXPECT_TRUE(index.ok());
    auto reader = RecordTextReader::Open(path_);
    EXPECT_TRUE(reader.ok());
    return MakePlan(*index, *reader, request);
  }

  /// `"name": {record}`.
  static std::string Forward(const std::string& name, const std::string& args = "[]",
                             const std::string& kwargs = "{}") {
    return "\"" + name + ".forward\": {\"input_args\": " + args + ", \"input_kwargs\": " + kwargs + ", \"output\": []}";
  }
  static std::string Backward(const std::string& name) {
    return "\"" + name + ".backward\": {\"input\": [], \"output\": []}";
  }
  static std::string Tensor(const std::string& shape, const std::string& more = "\"Max\": 1.0") {
    return R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": )" + shape + ", " + more + "}";
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(PlanTest, PairsForwardAndBackwardInDumpOrder) {
  auto plan = Make(Backward("Torch.b.0") + "," + Forward("Torch.a.0") + "," + Forward("Torch.b.0") + "," +
                   Backward("Torch.c.0") + "," + Forward("Module.x.Linear.forward"));
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->cases.size(), 2U);
  EXPECT_EQ(plan->cases[0].full_name, "Torch.a.0");
  EXPECT_FALSE(plan->cases[0].backward);
  EXPECT_EQ(plan->cases[1].full_name, "Torch.b.0");
  ASSERT_TRUE(plan->cases[1].backward);
  EXPECT_EQ(plan->cases[1].backward->name, "Torch.b.0.backward");
  ASSERT_EQ(plan->warnings.size(), 1U);
  EXPECT_NE(plan->warnings[0].find("1 backward record without"), std::string::npos);
}

TEST_F(PlanTest, OfEqualNamesTheFirstCounts) {
  auto plan = Make(Forward("Torch.a.0", "[1]") + "," + Forward("Torch.a.0", "[2, 3]"));
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->cases.size(), 1U);
  auto reader = RecordTextReader::Open(path_);
  EXPECT_NE(reader->Read(plan->cases[0].forward)->find("[1]"), std::string::npos);
  EXPECT_EQ(plan->warnings.size(), 1U);
}

TEST_F(PlanTest, AnUnexpectedNameIsAnError) {
  auto plan = Make(Forward("Torch.a.0") + ", \"stray\": {}");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInput);
  EXPECT_NE(plan.error().message.find("stray"), std::string::npos);
}

TEST_F(PlanTest, BlackWinsOverWhiteAndNamesMatchExactly) {
  PlanRequest request;
  request.white_list = {"add", "mul"};
  request.black_list = {"mul"};
  auto plan = Make(Forward("Torch.add.0") + "," + Forward("Torch.mul.0") + "," + Forward("Torch.add_.0") + "," +
                       Forward("Distributed.add.0") + "," + Forward("MindSpeed.add.0") + "," + Forward("Torch.0"),
                   request);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->cases.size(), 6U);
  EXPECT_EQ(plan->cases[0].skip_reason, "");
  for (std::size_t i = 1; i < 6; ++i) EXPECT_NE(plan->cases[i].skip_reason, "") << i;
  EXPECT_NE(plan->cases[1].skip_reason.find("black_list"), std::string::npos);
  EXPECT_NE(plan->cases[2].skip_reason.find("white_list"), std::string::npos);
}

TEST_F(PlanTest, BothListsEmptySkipNothing) {
  auto plan = Make(Forward("Torch.empty.0") + "," + Forward("Tensor.to.0"));
  for (const CheckCase& item : plan->cases) EXPECT_EQ(item.skip_reason, "");
}

TEST_F(PlanTest, FilterComparesStructureAndValuesButNoStatistics) {
  PlanRequest request;
  request.filter_repeated = true;
  const std::string a = Tensor("[2, 3]");
  const std::string same =
      Tensor("[2, 3]", R"("Max": 9.0, "Min": NaN, "Mean": 3, "Norm": 2, "md5": "00", "data_name": "f")");
  const std::string other = Tensor("[3, 2]");
  const std::string grad = Tensor("[2, 3]", "\"Max\": 1.0, \"requires_grad\": true");
  const auto cat = [](const std::string& x, const std::string& y) { return "[[" + x + ", " + y + "]]"; };
  const std::string dim = R"({"dim": {"type": "int", "value": 0}, "out": null})";
  const std::string mid = R"({"out": null, "dim": {"type": "int", "value": 0}})";
  auto plan = Make(Forward("Torch.cat.0", cat(a, a), dim) + "," +                    // kept
                       Forward("Torch.cat.1", cat(a, other), dim) + "," +            // another shape within the list
                       Forward("Torch.cat.2", cat(same, a), mid) + "," +             // equal to 0
                       Forward("Torch.cat.3", cat(a, a)) + "," +                     // without keywords
                       Forward("Torch.stack.0", cat(a, a), dim) + "," +              // another API
                       Forward("Tensor.cat.0", cat(a, a), dim) + "," +               // another type
                       Forward("Torch.cat.4", "[" + a + "," + a + "]", dim) + "," +  // two arguments, not a list
                       Forward("Torch.cat.5", cat(grad, a), dim) + "," +             // needs a gradient
                       Forward("Torch.cat.6", cat(a, a), dim) + "," + Backward("Torch.cat.6"),
                   request);
  ASSERT_TRUE(plan.ok());
  for (const CheckCase& item : plan->cases) {
    EXPECT_EQ(item.skip_reason.empty(), item.full_name != "Torch.cat.2") << item.full_name << ": " << item.skip_reason;
  }
  EXPECT_NE(plan->cases[2].skip_reason.find("Torch.cat.0"), std::string::npos);
}

TEST_F(PlanTest, OnlyTakesFullNamesApisAndRowNames) {
  const std::string data = Forward("Torch.add.0") + "," + Forward("Torch.add.1") + "," + Forward("Tensor.add.10") +
                           "," + Forward("Torch.linalg.inv.0");
  const auto count = [&](std::vector<std::string> only) {
    PlanRequest request;
    request.only = std::move(only);
    auto plan = Make(data, request);
    EXPECT_TRUE(plan.ok());
    return plan.ok() ? plan->cases.size() : 0;
  };
  EXPECT_EQ(count({"Torch.add.0"}), 1U);
  EXPECT_EQ(count({"Torch.add.0.forward"}), 1U);
  EXPECT_EQ(count({"Tensor.add.10.backward.output.2"}), 1U);
  EXPECT_EQ(count({"Torch.add"}), 2U);
  EXPECT_EQ(count({"add"}), 3U);
  EXPECT_EQ(count({"linalg.inv", "Torch.add.1", "add"}), 4U);
  PlanRequest request;
  for (const char* wrong : {"Torch.add.2", "ad", "Torch", "Torch.add.0.sideways", "Torch.add.1000"}) {
    request.only = {"add", wrong};
    auto plan = Make(data, request);
    ASSERT_FALSE(plan.ok()) << wrong;
    EXPECT_EQ(plan.error().code, ErrorCode::kUsage);
    EXPECT_NE(plan.error().message.find(wrong), std::string::npos);
  }
}

TEST_F(PlanTest, FingerprintSeesContentAndChoice) {
  const std::string data = Forward("Torch.add.0", "[1]") + "," + Forward("Torch.mul.0");
  auto first = Make(data);
  const auto reference = PlanFingerprint(*first, path_);
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->size(), 16U);
  EXPECT_EQ(*PlanFingerprint(*Make(data), path_), *reference);
  EXPECT_NE(*PlanFingerprint(*Make(Forward("Torch.add.0", "[2]") + "," + Forward("Torch.mul.0")), path_), *reference);
  PlanRequest request;
  request.black_list = {"mul"};
  EXPECT_NE(*PlanFingerprint(*Make(data, request), path_), *reference);
}

TEST(FingerprintText, DependsOnWhereTextsEnd) {
  const auto hex = [](std::vector<std::string> texts) {
    Fingerprint fingerprint;
    for (const std::string& text : texts) fingerprint.Add(text);
    return fingerprint.Hex();
  };
  EXPECT_EQ(hex({"abc", "def"}), hex({"abc", "def"}));
  EXPECT_NE(hex({"abc", "def"}), hex({"abcd", "ef"}));
  EXPECT_NE(hex({"abc", ""}), hex({"abc"}));
  EXPECT_NE(hex({std::string(8, '\0')}), hex({std::string(9, '\0')}));
}

}  // namespace
}  // namespace msprobe
