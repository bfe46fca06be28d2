#include "record/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace msprobe {
namespace {

std::string Json(const Element& element) {
  std::string out;
  AppendJson(out, element);
  return out;
}

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

std::string JsonDouble(double value) {
  std::string out;
  AppendJsonDouble(out, value);
  return out;
}

TEST(JsonWriterTest, DoublesReadAsPythonPrintsThem) {
  EXPECT_EQ(JsonDouble(3.0), "3.0");
  EXPECT_EQ(JsonDouble(-0.0), "-0.0");
  EXPECT_EQ(JsonDouble(0.1), "0.1");
  EXPECT_EQ(JsonDouble(100000.0), "100000.0");
  EXPECT_EQ(JsonDouble(0.0001), "0.0001");
  EXPECT_EQ(JsonDouble(1e-05), "1e-05");
  EXPECT_EQ(JsonDouble(-2.152868364646565e-05), "-2.152868364646565e-05");
  EXPECT_EQ(JsonDouble(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(JsonDouble(1e16), "1e+16");
  EXPECT_EQ(JsonDouble(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(JsonDouble(5e-324), "5e-324");
}

TEST(JsonWriterTest, NonFiniteNumbersAreBareTokens) {
  EXPECT_EQ(JsonDouble(std::nan("")), "NaN");
  EXPECT_EQ(JsonDouble(-std::nan("")), "NaN");
  EXPECT_EQ(JsonDouble(std::numeric_limits<double>::infinity()), "Infinity");
  EXPECT_EQ(JsonDouble(-std::numeric_limits<double>::infinity()), "-Infinity");
}

TEST(JsonWriterTest, IntegersKeepAllDigits) {
  EXPECT_EQ(Json(Element(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(Json(Element(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
}

TEST(JsonWriterTest, StringsAreAsciiWithoutLineBreaks) {
  EXPECT_EQ(JsonString("a\"b\\c/\b\f\n\r\t"), R"("a\"b\\c/\b\f\n\r\t")");
  EXPECT_EQ(JsonString(std::string_view("\0\x1f\x7f", 3)), R"("\u0000\u001f\u007f")");
  EXPECT_EQ(JsonString("\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"), R"("\u00e9\u4e2d\ud83d\ude00")");
}

TEST(JsonWriterTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(JsonString("a\xFFz"), R"("a\ufffdz")");
  EXPECT_EQ(JsonString("\xE4\xB8"), R"("\ufffd\ufffd")");            // cut short
  EXPECT_EQ(JsonString("\xC0\xAF"), R"("\ufffd\ufffd")");            // overlong
  EXPECT_EQ(JsonString("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");  // a surrogate
  EXPECT_EQ(JsonString("\xF5\x80\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

TEST(JsonWriterTest, TensorKeysStandInTheDocumentedOrder) {
  TensorElement tensor;
  tensor.dtype = "torch.float32";
  tensor.shape = {2, 3};
  tensor.max = StatisticValue(1.5);
  tensor.min = StatisticValue(std::int64_t{-2});
  tensor.mean = StatisticValue();
  tensor.norm = StatisticValue(true);
  tensor.requires_grad = false;
  tensor.stride = {{1, 2}};
  tensor.storage_offset = 4;
  tensor.finite_max = StatisticValue(1.0);
  tensor.finite_min = StatisticValue(0.5);
  tensor.origin_max = StatisticValue(std::nan(""));
  tensor.origin_min = StatisticValue(0.25);
  tensor.md5 = "8ba71454";
  tensor.data_name = "A.b.0.forward.input.0.pt";
  tensor.datapath = "/x";
  tensor.extra.push_back({"device_mesh", Typed("str", std::string("mesh"))});
  std::string out;
  AppendJson(out, tensor);
  EXPECT_EQ(out,
            "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], \"Max\": 1.5, \"Min\": -2, "
            "\"Mean\": null, \"Norm\": true, \"requires_grad\": false, \"stride\": [1, 2], \"storage_offset\": 4, "
            "\"Max_except_inf_nan\": 1.0, \"Min_except_inf_nan\": 0.5, \"Max_origin\": NaN, \"Min_origin\": 0.25, "
            "\"md5\": \"8ba71454\", \"data_name\": \"A.b.0.forward.input.0.pt\", \"datapath\": \"/x\", "
            "\"device_mesh\": {\"type\": \"str\", \"value\": \"mesh\"}}");
}

TEST(JsonWriterTest, AbsentTensorKeysAreLeftOut) {
  TensorElement tensor;
  tensor.type = "mindspore.Tensor";
  tensor.dtype = "Float32";
  std::string out;
  AppendJson(out, tensor);
  EXPECT_EQ(out, R"({"type": "mindspore.Tensor", "dtype": "Float32", "shape": []})");
}

TEST(JsonWriterTest, RecordWithContainers) {
  Record record;
  ElementList arguments;
  arguments.emplace_back();
  arguments.push_back(Typed("int", 3));
  ElementList nested;
  nested.push_back(Typed("float", 0.5));
  arguments.push_back(Element(std::move(nested)));
  ElementObject dictionary;
  dictionary.push_back({"k", Element(true)});
  record.sections.push_back({"input_args", Element(std::move(arguments))});
  record.sections.push_back({"input_kwargs", Element(std::move(dictionary))});
  record.sections.push_back({"output", Element(ElementList())});
  std::string out;
  AppendJson(out, record);
  EXPECT_EQ(out, R"({"input_args": [null, {"type": "int", "value": 3}, [{"type": "float", "value": 0.5}]], )"
                 R"("input_kwargs": {"k": true}, "output": []})");
  ASSERT_NE(record.Section("output"), nullptr);
  EXPECT_EQ(record.Section("input"), nullptr);
}

TEST(JsonWriterTest, TooDeepNestingBecomesNull) {
  Element deepest(std::string("bottom"));
  for (int i = 0; i < 1000; ++i) {
    ElementList list;
    list.push_back(std::move(deepest));
    deepest = Element(std::move(list));
  }
  const std::string text = Json(deepest);
  EXPECT_EQ(text, std::string(400, '[') + "null" + std::string(400, ']'));
}

TEST(ElementTest, EqualityLooksAtEverythingAndTakesNanAsEqual) {
  EXPECT_TRUE(Typed("float", std::nan("")) == Typed("float", std::nan("")));
  EXPECT_FALSE(Typed("float", 1.0) == Typed("int", 1.0));
  EXPECT_FALSE(Typed("int", 1) == Typed("int", std::uint64_t{1}));
  EXPECT_FALSE(Element(ElementList()) == Element(ElementObject()));
  TensorElement a;
  TensorElement b;
  EXPECT_TRUE(a == b);
  b.max = StatisticValue();
  EXPECT_FALSE(a == b) << "a null statistic is not an absent one";
  b.max.reset();
  b.extra.push_back({"k", Element()});
  EXPECT_FALSE(a == b);
}

}  // namespace
}  // namespace msprobe
