#include "replay/output_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace msprobe {
namespace {

using Kind = OutputValue::Kind;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

OutputValue Of(Kind kind) {
  OutputValue value;
  value.kind = kind;
  return value;
}

OutputValue Integer(const std::string& digits) {
  OutputValue value = Of(Kind::kInteger);
  value.text = digits;
  return value;
}

OutputValue Bool(bool flag) {
  OutputValue value = Of(Kind::kBool);
  value.boolean = flag;
  return value;
}

OutputValue Float(double number) {
  OutputValue value = Of(Kind::kFloat);
  value.number = number;
  return value;
}

OutputValue Sequence(std::vector<OutputValue> items) {
  OutputValue value = Of(Kind::kSequence);
  value.items = std::move(items);
  return value;
}

OutputValue Mapping(std::vector<std::string> keys, std::vector<OutputValue> items) {
  OutputValue value = Of(Kind::kMapping);
  value.keys = std::move(keys);
  value.items = std::move(items);
  return value;
}

std::vector<DetailsRow> Compare(const OutputValue& bench, const OutputValue& device) {
  return CompareOutputs("add", Treatment::kValues, bench, device);
}

TEST(CompareOutputs, BuiltinsByEquality) {
  EXPECT_EQ(Compare(Integer("3"), Integer("3"))[0].verdict, Verdict::kPass);
  EXPECT_TRUE(Compare(Integer("3"), Integer("3"))[0].builtins_equal);
  EXPECT_EQ(Compare(Integer("3"), Integer("4"))[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Float(kNan), Float(kNan))[0].verdict, Verdict::kPass);
  EXPECT_EQ(Compare(Float(1.0), Float(1.5))[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Integer("3"), Integer("3"))[0].bench_dtype, "<class 'int'>");
}

TEST(CompareOutputs, TypesMustAgree) {
  EXPECT_EQ(Compare(Integer("1"), Float(1.0))[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Bool(true), Integer("1"))[0].verdict, Verdict::kPass);
  EXPECT_EQ(Compare(Integer("1"), Bool(true))[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Of(Kind::kNone), Integer("1"))[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Of(Kind::kNone), Of(Kind::kNone))[0].verdict, Verdict::kSkip);
}

TEST(CompareOutputs, AnotherNumberOfOutputsIsAnError) {
  const auto rows = Compare(Sequence({Integer("1"), Integer("2")}), Sequence({Integer("1")}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].verdict, Verdict::kError);
  EXPECT_EQ(Compare(Sequence({Integer("1")}), Sequence({Integer("1"), Integer("2")}))[0].verdict, Verdict::kError);
}

TEST(CompareOutputs, NestedSequencesGiveOneRowPerLeaf) {
  const auto rows = Compare(Sequence({Integer("1"), Sequence({Integer("2"), Of(Kind::kNone)})}),
                            Sequence({Integer("1"), Sequence({Integer("3"), Of(Kind::kNone)})}));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].verdict, Verdict::kError);
  EXPECT_EQ(Aggregate(rows), Verdict::kError);
}

TEST(CompareOutputs, DictsByKeyWhateverTheirOrder) {
  const auto rows =
      Compare(Mapping({"a", "b"}, {Integer("1"), Integer("2")}), Mapping({"b", "a"}, {Integer("2"), Integer("1")}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(Aggregate(rows), Verdict::kPass);
  EXPECT_NE(rows[1].message.find("key b"), std::string::npos);
  EXPECT_EQ(Compare(Mapping({"a"}, {Integer("1")}), Mapping({"b"}, {Integer("1")}))[0].verdict, Verdict::kError);
}

TEST(Aggregate, ErrorOverWarningOverPassAndSkipOnlyIfAllAre) {
  const auto of = [](std::vector<Verdict> verdicts) {
    std::vector<DetailsRow> rows(verdicts.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].verdict = verdicts[i];
    return Aggregate(rows);
  };
  EXPECT_EQ(of({Verdict::kError, Verdict::kWarning}), Verdict::kError);
  EXPECT_EQ(of({Verdict::kWarning, Verdict::kPass}), Verdict::kWarning);
  EXPECT_EQ(of({Verdict::kSkip, Verdict::kSkip}), Verdict::kSkip);
  EXPECT_EQ(of({Verdict::kPass, Verdict::kSkip}), Verdict::kPass);
}

}  // namespace
}  // namespace msprobe
