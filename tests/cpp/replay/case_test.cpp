#include "replay/case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "replay_fixture.h"

namespace msprobe {
namespace {

using Kind = Argument::Kind;

const std::string kFloat = TensorJson("float32", "[2, 3]", "-1.5", "2.5", true);
const std::string kGradient = R"({"input": [)" + TensorJson("float32", "[2, 3]", "-1", "1") + R"(], "output": []})";

TEST(CaseRequest, ReadsNameIndexAndBothRecords) {
  const auto request = ParseCaseRequest(CaseMessage("Torch.add.0", "[" + kFloat + "]", "{}", kGradient));
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request.value().index, 7);
  EXPECT_EQ(request.value().name, "Torch.add.0");
  ASSERT_NE(request.value().forward.Section("input_args"), nullptr);
  ASSERT_TRUE(request.value().backward.has_value());
  EXPECT_NE(request.value().backward->Section("input"), nullptr);
}

TEST(CaseRequest, KeysOfInnerObjectsAreNotMistaken) {
  const std::string kwargs = R"({"forward": {"a": {"type": "int", "value": 1}}, "index": {"type": "int", "value": 3}})";
  const auto plan = Plan(CaseMessage("Torch.add.0", "[]", kwargs));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().index, 7);
  ASSERT_EQ(plan.value().keywords.size(), 2u);
  EXPECT_EQ(plan.value().keywords[0].value.kind, Kind::kDict);
}

TEST(CaseRequest, RefusesWhatIsNoCase) {
  EXPECT_FALSE(ParseCaseRequest("").ok());
  EXPECT_FALSE(ParseCaseRequest("[]").ok());
  EXPECT_FALSE(ParseCaseRequest(R"({"type": "case", "index": 1, "name": "Torch.add.0"})").ok());
  EXPECT_FALSE(ParseCaseRequest(R"({"index": 1, "name": "Torch.add.0", "forward": {)").ok());
  EXPECT_FALSE(
      ParseCaseRequest(R"({"index": 1, "name": "Torch.add.0", "forward": {"a": )" + std::string(100000, '[')).ok());
}

TEST(CaseRequest, ARecordThatCannotBeReadIsSkipped) {
  const auto request = ParseCaseRequest(CaseMessage("Torch.add.0", std::string(500, '[') + std::string(500, ']')));
  ASSERT_TRUE(request.ok());
  const auto plan = PlanCase(request.value(), TestSettings());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("400"), std::string::npos) << plan.error().message;
}

TEST(CaseRequest, ARecordThatIsNoObjectIsSkipped) {
  for (const char* forward : {"\"text\"", "null", "true", "5", "-2.5", "[{}]", "18446744073709551615"}) {
    const auto request = ParseCaseRequest(R"({"index": 3, "name": "Torch.add.0", "forward": )" + std::string(forward) +
                                          R"(, "backward": null})");
    ASSERT_TRUE(request.ok()) << forward;
    EXPECT_EQ(request.value().index, 3);
    const auto plan = PlanCase(request.value(), TestSettings());
    ASSERT_FALSE(plan.ok()) << forward;
    EXPECT_NE(plan.error().message.find("no JSON object"), std::string::npos) << plan.error().message;
  }
}

TEST(Case, RebuildsEveryKindOfValue) {
  const std::string args =
      R"([null, {"type": "bool", "value": true}, {"type": "int", "value": -3}, {"type": "float", "value": NaN},
          {"type": "str", "value": "mean"}, {"type": "slice", "value": [null, 2, -1]},
          {"type": "ellipsis", "value": "..."}, {"type": "torch.Size", "value": [2, 3]},
          [{"type": "int", "value": 1}, null], {"a": {"type": "int", "value": 1}},
          {"type": "float32", "value": 2.0}, {"type": "int", "value": 18446744073709551615},
          {"type": "torch.memory_format", "format": "channels_last"}, 5])";
  const auto plan = Plan(CaseMessage("Torch.add.0", args));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& positional = plan.value().positional;
  const std::vector<Kind> kinds = {Kind::kNone,  Kind::kBool,     Kind::kInteger,      Kind::kFloat,  Kind::kString,
                                   Kind::kSlice, Kind::kEllipsis, Kind::kSize,         Kind::kList,   Kind::kDict,
                                   Kind::kFloat, Kind::kUnsigned, Kind::kMemoryFormat, Kind::kInteger};
  ASSERT_EQ(positional.size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(positional[i].kind, kinds[i]) << i;
  EXPECT_TRUE(std::isnan(positional[3].number));
  EXPECT_EQ(positional[5].items[1].integer, 2);
  EXPECT_EQ(positional[9].keys, std::vector<std::string>{"a"});
  EXPECT_EQ(positional[11].unsigned_integer, 18446744073709551615U);
}

TEST(Case, KeywordDTypeAndDevice) {
  const auto plan = Plan(CaseMessage(
      "Torch.arange.0", R"([{"type": "int", "value": 4}])",
      R"({"dtype": {"type": "torch.dtype", "value": "torch.half"}, "device": {"type": "torch.device", "value": "npu:0"}})"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().keywords[0].value.kind, Kind::kDType);
  EXPECT_EQ(plan.value().keywords[0].value.text, "float16");
  EXPECT_EQ(plan.value().keywords[1].value.kind, Kind::kDevice);
}

TEST(Case, SaysWhatCannotBeRebuilt) {
  const auto message = [](const std::string& args) {
    const auto plan = Plan(CaseMessage("Torch.add.0", args));
    return plan.ok() ? std::string() : plan.error().message;
  };
  EXPECT_NE(message("[null, {}]").find("input.1"), std::string::npos);
  EXPECT_NE(message(R"([{"type": "torch.ProcessGroup", "group_ranks": [0]}])").find("ProcessGroup"), std::string::npos);
  EXPECT_NE(message("[" + TensorJson("float32", "[2]", "null", "null") + "]").find("maximum"), std::string::npos);
  EXPECT_NE(message("[" + TensorJson("quint8", "[2]", "0", "1") + "]").find("quint8"), std::string::npos);
  EXPECT_NE(message("[" + TensorJson("float32", "[-2]", "0", "1") + "]").find("shape"), std::string::npos);
  EXPECT_NE(message("[" + TensorJson("float32", "[99999999999, 99999999999]", "0", "1") + "]").find("shape"),
            std::string::npos);
  std::string ones = "[1";
  for (int i = 0; i < 5000; ++i) ones += ", 1";
  EXPECT_NE(message("[" + TensorJson("float32", ones + "]", "0", "1") + "]").find("5001 dimensions"),
            std::string::npos);
  EXPECT_NE(message(R"([{"type": "slice", "value": [1, 2]}])").find("slice"), std::string::npos);
  const auto nothing = Plan(R"({"index": 0, "name": "Torch.add.0", "forward": {"output": []}})");
  ASSERT_FALSE(nothing.ok());
  EXPECT_NE(nothing.error().message.find("no inputs"), std::string::npos);
}

TEST(Case, OnlyListedNamesAreCalled) {
  EXPECT_FALSE(Plan(CaseMessage("Torch.load.0", "[]")).ok());
  EXPECT_FALSE(Plan(CaseMessage("Functional.add.0", "[]")).ok());
  EXPECT_FALSE(Plan(CaseMessage("Aten.add.0", "[]")).ok());
  EXPECT_FALSE(Plan(CaseMessage("Torch.0", "[]")).ok());
  const auto dotted = Plan(CaseMessage("Torch.linalg.norm.0", "[]"));
  ASSERT_TRUE(dotted.ok());
  EXPECT_EQ(dotted.value().api, "linalg.norm");
  // Newer dumps keep the last part only.
  const auto last_part = Plan(CaseMessage("Torch.inv.0", "[]"));
  ASSERT_TRUE(last_part.ok());
  EXPECT_EQ(last_part.value().function, "linalg.inv");
  ReplaySettings ambiguous = TestSettings();
  ambiguous.names.categories["torch"].push_back("sparse.inv");
  EXPECT_FALSE(Plan(CaseMessage("Torch.inv.0", "[]"), ambiguous).ok());
}

TEST(Case, APatternLetsNothingBeCalled) {
  ReplaySettings settings = TestSettings();
  settings.names.patterns["torch"].push_back("*");
  const auto plan = Plan(CaseMessage("Torch.load.0", "[]"), settings);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("only a pattern of the support list gives \"load\""), std::string::npos);
}

TEST(ReplaySettingsTest, OverlaysOfTheSupportList) {
  const TemporaryFolder folder;
  const std::string overlay = folder.Write("mine.yaml", "torch: [my_api, -add]\n");
  const auto settings = ParseReplaySettings(R"({"support_list": "", "support_overlays": [")" + overlay + R"("]})");
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_TRUE(settings.value().names.Contains("torch", "my_api"));
  EXPECT_FALSE(settings.value().names.Contains("torch", "add"));
  EXPECT_TRUE(settings.value().names.Contains("torch", "mul"));
}

TEST(Case, RaisesOneKindByOneStepAndMixturesToFloat32) {
  const auto raised = [](const std::string& api, const std::vector<std::string>& dtypes) {
    std::string args;
    for (const auto& dtype : dtypes) args += (args.empty() ? "[" : ", ") + TensorJson(dtype, "[2]", "0", "1");
    const auto plan = Plan(CaseMessage(api, args + "]"));
    std::vector<DType> found;
    for (const auto& spec : plan.value().tensors) found.push_back(spec.bench_dtype);
    return found;
  };
  using V = std::vector<DType>;
  EXPECT_EQ(raised("Torch.add.0", {"float32"}), V{DType::kFloat64});
  EXPECT_EQ(raised("Torch.add.0", {"float16", "int32"}), (V{DType::kFloat32, DType::kInt32}));
  EXPECT_EQ(raised("Torch.add.0", {"bfloat16", "float64"}), (V{DType::kFloat32, DType::kFloat64}));
  EXPECT_EQ(raised("Torch.add.0", {"float16", "float32"}), (V{DType::kFloat32, DType::kFloat32}));
  EXPECT_EQ(raised("Torch.add.0", {"float8_e5m2", "complex64", "bool"}),
            (V{DType::kFloat32, DType::kComplex64, DType::kBool}));
  EXPECT_EQ(raised("Tensor.type_as.0", {"float32", "float16"}), (V{DType::kFloat32, DType::kFloat16}));
  EXPECT_EQ(raised("Functional.conv2d.0", {"float32"}), V{DType::kFloat32});
  EXPECT_EQ(raised("Functional.conv2d.0", {"float16"}), V{DType::kFloat32});
}

TEST(Case, KeywordTensorsCountForRaising) {
  const auto plan = Plan(CaseMessage("Torch.add.0", "[" + TensorJson("float32", "[2]", "0", "1") + "]",
                                     R"({"other": [)" + TensorJson("bfloat16", "[2]", "0", "1") + "]}"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().tensors[0].bench_dtype, DType::kFloat32);
  EXPECT_EQ(plan.value().tensors[1].position, "kwargs.other.0");
  EXPECT_EQ(plan.value().autocast, DType::kBFloat16);
}

TEST(Case, AutocastWhereTheRecordShowsIt) {
  const std::string fp32 = "[" + kFloat + ", " + kFloat + "]";
  const std::string half = R"(, "output": [)" + TensorJson("float16", "[2, 2]", "0", "1") + "]";
  const auto recorded = Plan(CaseMessage("Torch.mm.0", fp32, "{}", "null", half));
  ASSERT_TRUE(recorded.ok());
  EXPECT_EQ(recorded.value().autocast, DType::kFloat16);
  EXPECT_EQ(recorded.value().tensors[0].rounding, InputRounding::kFloat16);
  EXPECT_FALSE(Plan(CaseMessage("Torch.add.0", fp32, "{}", "null", half)).value().autocast.has_value());
  EXPECT_FALSE(Plan(CaseMessage("Torch.mm.0", fp32)).value().autocast.has_value());
}

TEST(Case, KeywordDTypeIsRaisedOnTheBench) {
  const auto bench = [](const std::string& input, const std::string& dtype) {
    const std::string kwargs = R"({"dtype": {"type": "torch.dtype", "value": "torch.)" + dtype + "\"}}";
    const auto plan = Plan(CaseMessage("Functional.softmax.0", "[" + TensorJson(input, "[2]", "0", "1") + "]", kwargs));
    return plan.value().keywords[0].value.bench_text;
  };
  EXPECT_EQ(bench("float32", "float32"), "float64");
  EXPECT_EQ(bench("bfloat16", "float32"), "float32");
  EXPECT_EQ(bench("float32", "bfloat16"), "float64");
  EXPECT_EQ(bench("float32", "int64"), "");
  EXPECT_EQ(bench("int64", "float32"), "");
}

TEST(Case, LabelsOfCrossEntropy) {
  const std::string logits = TensorJson("float32", "[4, 10]", "-1", "1", true);
  const auto plan = Plan(
      CaseMessage("Functional.cross_entropy.0", "[" + logits + ", " + TensorJson("int32", "[4]", "-100", "9") + "]"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().tensors[1].dtype, DType::kInt64);
  EXPECT_EQ(plan.value().tensors[1].range.integer_low, 0);
  EXPECT_EQ(plan.value().tensors[1].range.integer_high, 9);
  const auto ignored = Plan(CaseMessage("Functional.cross_entropy.0",
                                        "[" + logits + ", " + TensorJson("int64", "[4]", "-100", "-100") + "]"));
  EXPECT_EQ(ignored.value().tensors[1].range.integer_high, 0);
}

TEST(Case, HistcOfIntegersIsFloat) {
  const auto plan = Plan(CaseMessage("Torch.histc.0", "[" + TensorJson("int64", "[4]", "0", "9") + "]"));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().tensors[0].dtype, DType::kFloat32);
  EXPECT_EQ(plan.value().tensors[0].bench_dtype, DType::kFloat64);
}

TEST(Case, ConvolutionInputsAreRoundedToHf32) {
  const auto rounding = [](const std::string& name, const std::string& dtype) {
    return Plan(CaseMessage(name, "[" + TensorJson(dtype, "[2]", "0", "1") + "]")).value().tensors[0].rounding;
  };
  EXPECT_EQ(rounding("Functional.conv2d.0", "float32"), InputRounding::kHf32);
  EXPECT_EQ(rounding("Functional.conv2d.0", "float16"), InputRounding::kNone);
  EXPECT_EQ(rounding("Functional.linear.0", "float32"), InputRounding::kNone);
}

TEST(Case, BackwardNeedsARecordAndAGradient) {
  const std::string args = "[" + kFloat + "]";
  EXPECT_FALSE(Plan(CaseMessage("Torch.add.0", args)).value().backward.run);
  const auto plan = Plan(CaseMessage("Torch.add.0", args, "{}", kGradient));
  EXPECT_TRUE(plan.value().backward.run);
  EXPECT_EQ(plan.value().backward.gradient->bench_dtype, DType::kFloat64);
  const auto missing = Plan(CaseMessage("Torch.add.0", args, "{}", R"({"input": [null], "output": []})"));
  EXPECT_FALSE(missing.value().backward.run);
  EXPECT_NE(missing.value().backward.skip_reason.find("no gradient"), std::string::npos);
  const auto detached =
      Plan(CaseMessage("Torch.add.0", "[" + TensorJson("float32", "[2]", "0", "1") + "]", "{}", kGradient));
  EXPECT_NE(detached.value().backward.skip_reason.find("requires a gradient"), std::string::npos);
  EXPECT_EQ(Plan(CaseMessage("Torch.topk.0", args, "{}", kGradient)).value().backward.output, 0);
}

TEST(Case, OutAndRepeatInterleaveHaveNoBackward) {
  const auto with_out = Plan(CaseMessage("Torch.matmul.0", "[" + kFloat + "]", R"({"out": )" + kFloat + "}"));
  EXPECT_FALSE(with_out.value().backward.skip_reason.empty());
  EXPECT_FALSE(with_out.value().tensors[1].requires_grad);
  EXPECT_TRUE(
      Plan(CaseMessage("Torch.matmul.0", "[" + kFloat + "]", R"({"out": null})")).value().backward.skip_reason.empty());
  EXPECT_FALSE(
      Plan(CaseMessage("Tensor.repeat_interleave.0", "[" + kFloat + "]")).value().backward.skip_reason.empty());
}

TEST(Case, CallsThatReplaceTheirStorageHaveNoBackward) {
  ReplaySettings settings = TestSettings();
  settings.names.categories["tensor"].push_back("resize_");
  const auto plan = Plan(CaseMessage("Tensor.resize_.0", "[" + kFloat + "]", "{}", kGradient), settings);
  EXPECT_FALSE(plan.value().backward.run);
  EXPECT_FALSE(plan.value().backward.skip_reason.empty());
  EXPECT_TRUE(Plan(CaseMessage("Tensor.resize_.0", "[" + kFloat + "]"), settings).value().backward.skip_reason.empty());
}

TEST(Case, IndexListsBecomeTuplesWhereTheyAre) {
  const auto kind = [](const std::string& index, const std::string& output = "[3]") {
    const auto plan = Plan(CaseMessage("Tensor.__getitem__.0",
                                       "[" + TensorJson("float32", "[4, 5, 3]", "0", "1") + ", " + index + "]", "{}",
                                       "null", R"(, "output": [)" + TensorJson("float32", output, "0", "1") + "]"));
    return plan.value().positional[1].kind;
  };
  EXPECT_EQ(kind(R"([{"type": "slice", "value": [null, null, null]}, {"type": "int", "value": 1}])"), Kind::kTuple);
  EXPECT_EQ(kind(R"([{"type": "ellipsis", "value": "..."}, null])"), Kind::kTuple);
  EXPECT_EQ(kind("[" + TensorJson("int64", "[2]", "0", "1") + "]"), Kind::kTuple);
  const std::string pair = R"([{"type": "int", "value": 0}, {"type": "int", "value": 1}])";
  EXPECT_EQ(kind(pair, "[3]"), Kind::kTuple);
  EXPECT_EQ(kind(pair, "[2, 5, 3]"), Kind::kList);
}

TEST(Case, ByteMasksBecomeBool) {
  const auto plan =
      Plan(CaseMessage("Tensor.__getitem__.0", "[" + kFloat + ", " + TensorJson("uint8", "[2, 3]", "0", "255") + "]"));
  EXPECT_EQ(plan.value().tensors[1].dtype, DType::kBool);
}

TEST(Case, KeepsTheRecordedLayout) {
  const auto spec = [](const std::string& shape, const std::string& more) {
    auto plan = Plan(CaseMessage("Torch.add.0", "[" + TensorJson("float32", shape, "0", "1", false, more) + "]"));
    return plan.value().tensors[0];
  };
  const auto transposed = spec("[2, 3]", R"(, "stride": [1, 2], "storage_offset": 5)");
  EXPECT_EQ(transposed.strides, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(transposed.storage_offset, 5);
  EXPECT_EQ(transposed.storage_count, 11);
  const auto expanded = spec("[1000, 3]", R"(, "stride": [0, 1], "storage_offset": 0)");
  EXPECT_EQ(expanded.storage_count, 3);
  // Strides that cannot be, or would ask for far more memory than the elements.
  EXPECT_TRUE(spec("[2, 3]", R"(, "stride": [1])").strides.empty());
  EXPECT_TRUE(spec("[2, 3]", R"(, "stride": [-1, 1])").strides.empty());
  EXPECT_TRUE(spec("[2, 3]", R"(, "stride": [1000000000000, 1])").strides.empty());
  EXPECT_TRUE(spec("[2, 3]", R"(, "stride": [4611686018427387904, 4611686018427387904])").strides.empty());
  EXPECT_TRUE(spec("[0, 3]", R"(, "stride": [7, 1])").strides.empty());
  EXPECT_TRUE(spec("[2, 3]", R"(, "stride": [3, 1], "storage_offset": 0)").strides.empty());
}

TEST(Case, RandomRangesOfAllGenerations) {
  const auto range = [](const std::string& low, const std::string& high, const std::string& more,
                        const std::string& dtype = "float32") {
    return Plan(CaseMessage("Torch.add.0", "[" + TensorJson(dtype, "[4]", low, high, false, more) + "]"))
        .value()
        .tensors[0]
        .range;
  };
  const auto newer = range("-Infinity", "1", "");
  EXPECT_TRUE(newer.has_negative_infinity);
  const auto companion = range("-Infinity", "0", R"(, "Min_except_inf_nan": -3)");
  EXPECT_EQ(companion.low, -3);
  EXPECT_TRUE(companion.has_negative_infinity);
  const auto older = range("-3", "0", R"(, "Max_origin": Infinity, "Min_origin": -3)");
  EXPECT_EQ(older.high, 0);
  EXPECT_TRUE(older.has_positive_infinity);
  const auto nan = range("NaN", "NaN", R"(, "Max_except_inf_nan": 2, "Min_except_inf_nan": 1)");
  EXPECT_TRUE(nan.contains_nan);
  EXPECT_EQ(nan.low, 1);
  EXPECT_FALSE(range("NaN", "NaN", "").contains_nan);
  EXPECT_TRUE(range("Infinity", "Infinity", R"(, "Max_except_inf_nan": Infinity, "Min_except_inf_nan": Infinity)")
                  .nothing_finite);
  EXPECT_EQ(range("0", "9223372036854775807", "", "int64").integer_high, 9223372036854775807);
  EXPECT_EQ(range("0.0", "3.0", "", "int64").integer_high, 3);
  EXPECT_EQ(range("true", "false", "", "bool").integer_low, 1);
}

TEST(Case, EmptyTensorsNeedNoStatistics) {
  const auto plan = Plan(CaseMessage("Torch.add.0", "[" + TensorJson("float32", "[0, 3]", "null", "null") + "]"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.value().tensors[0].storage_count, 0);
}

TEST(Case, KeysDependOnNameAndPosition) {
  const std::string args = "[" + kFloat + ", " + kFloat + "]";
  const auto first = Plan(CaseMessage("Torch.add.0", args)).value();
  const auto second = Plan(CaseMessage("Torch.add.1", args)).value();
  EXPECT_NE(first.tensors[0].key, first.tensors[1].key);
  EXPECT_NE(first.tensors[0].key, second.tensors[0].key);
  EXPECT_EQ(first.tensors[0].key, Plan(CaseMessage("Torch.add.0", args)).value().tensors[0].key);
  EXPECT_NE(first.seed, second.seed);
}

TEST(Case, TreatmentsGoByExactName) {
  const std::string args = "[" + kFloat + "]";
  EXPECT_EQ(Plan(CaseMessage("Functional.dropout.0", args)).value().treatment, Treatment::kDropout);
  EXPECT_EQ(Plan(CaseMessage("Torch.bernoulli.0", args)).value().treatment, Treatment::kRandom);
  EXPECT_EQ(Plan(CaseMessage("Torch.add.0", args)).value().treatment, Treatment::kValues);
  EXPECT_EQ(Plan(CaseMessage("Tensor.resize_as_.0", args)).value().treatment, Treatment::kUninitialised);
  EXPECT_EQ(Plan(CaseMessage("Functional.rrelu.0", args, R"({"training": {"type": "bool", "value": true}})"))
                .value()
                .treatment,
            Treatment::kRandom);
  EXPECT_EQ(Plan(CaseMessage("Functional.rrelu.0", args)).value().treatment, Treatment::kValues);
}

TEST(Case, AttentionIsReplayedWithoutDropout) {
  const auto plan = Plan(CaseMessage("Functional.scaled_dot_product_attention.0", "[" + kFloat + "]",
                                     R"({"dropout_p": {"type": "float", "value": 0.1}})"));
  EXPECT_EQ(plan.value().keywords[0].value.number, 0);
  EXPECT_FALSE(plan.value().note.empty());
}

TEST(ApiTraits, InPlaceNames) {
  for (const char* name : {"add_", "__iadd__", "__setitem__", "squeeze_", "__ior__"})
    EXPECT_TRUE(IsInPlace(name)) << name;
  for (const char* name : {"add", "__add__", "__invert__", "__getitem__", "__init__"})
    EXPECT_FALSE(IsInPlace(name)) << name;
}

}  // namespace
}  // namespace msprobe
