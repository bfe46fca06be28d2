#include "record/dump_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "record/json_writer.h"
#include "record/record_samples.h"
#include "record/temporary_folder.h"

namespace msprobe {
namespace {

Element Parsed(std::string_view text) {
  auto element = ParseElement(text);
  if (!element.ok()) {
    ADD_FAILURE() << text << ": " << element.error().message;
    return Element();
  }
  return std::move(*element);
}

std::string Json(const Record& record) {
  std::string out;
  AppendJson(out, record);
  return out;
}

/// Writes `text` to a file and indexes it.
Result<DumpIndex> Index(std::string_view text) {
  const TemporaryFolder folder;
  WriteText(folder / "dump.json", text);
  return IndexDump(folder / "dump.json");
}

std::vector<std::string> Names(const DumpIndex& index) {
  std::vector<std::string> names;
  for (const RecordPosition& position : index.records) names.push_back(position.name);
  return names;
}

using Strings = std::vector<std::string>;

TEST(ParseElementTest, Numbers) {
  EXPECT_TRUE(Parsed("0") == Element(std::int64_t{0}));
  EXPECT_TRUE(Parsed(" -9223372036854775808 ") == Element(std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(Parsed("9223372036854775808") == Element(std::uint64_t{1} << 63U));
  EXPECT_TRUE(Parsed("18446744073709551616") == Element(18446744073709551616.0));
  EXPECT_TRUE(Parsed("-9223372036854775809") == Element(-9223372036854775808.0));
  EXPECT_TRUE(Parsed("3.0") == Element(3.0));
  EXPECT_TRUE(Parsed("-1.5E+2") == Element(-150.0));
  EXPECT_TRUE(Parsed("0.1") == Element(0.1));
  EXPECT_TRUE(Parsed("NaN") == Element(std::nan("")));
  EXPECT_TRUE(Parsed("Infinity") == Element(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(Parsed("-Infinity") == Element(-std::numeric_limits<double>::infinity()));
}

TEST(ParseElementTest, NumbersBeyondDoubleBecomeInfinityOrZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Parsed("1e999") == Element(infinity));
  EXPECT_TRUE(Parsed("-1e999") == Element(-infinity));
  EXPECT_TRUE(Parsed("1e-999") == Element(0.0));
  EXPECT_TRUE(Parsed("0.0000001e99999999999999999999") == Element(infinity));
  EXPECT_TRUE(Parsed("1e-99999999999999999999") == Element(0.0));
  EXPECT_TRUE(Parsed("1" + std::string(400, '0')) == Element(infinity));
  EXPECT_TRUE(Parsed("0." + std::string(400, '0') + "1") == Element(0.0));
}

TEST(ParseElementTest, StringsWithEscapesAndHalfSurrogates) {
  EXPECT_TRUE(Parsed(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u4e2d\ud83d\ude00")") ==
              Element(std::string("\"\\/\b\f\n\r\tA\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80")));
  EXPECT_TRUE(Parsed(R"("\u0000")") == Element(std::string(1, '\0')));
  EXPECT_TRUE(Parsed(R"("\udcff!")") == Element(std::string("\xEF\xBF\xBD!")));
  EXPECT_TRUE(Parsed(R"("\ud83dA\ud83d\u0041")") == Element(std::string("\xEF\xBF\xBD"
                                                                        "A\xEF\xBF\xBD"
                                                                        "A")));
  EXPECT_TRUE(Parsed("\"\xE4\xB8\xAD\xFF\"") == Element(std::string("\xE4\xB8\xAD\xEF\xBF\xBD")));
}

TEST(ParseElementTest, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",      " ",       "nul",         "nan",     "Inf",       "-NaN",       "+1",    "01",
        "-",     "1.",      ".5",          "1e",      "1e+",       "--1",        "0x10",  "'a'",
        "\"a",   "\"\\x\"", "\"\\u12g4\"", "\"\\u12", "\"a\nb\"",  "[",          "[1,",   "[1,]",
        "[1 2]", "[1}",     "{",           "{\"a\"}", "{\"a\":}",  "{\"a\":1,}", "{1:2}", "{\"a\":1]",
        "1 2",   "[] x",    "True",        "None",    "{\"a\" 1}", ",",          ":"}) {
    const auto element = ParseElement(text);
    ASSERT_FALSE(element.ok()) << text;
    EXPECT_EQ(element.error().code, ErrorCode::kInput);
    EXPECT_NE(element.error().message.find("at byte"), std::string::npos) << element.error().message;
  }
}

TEST(ParseElementTest, NestingOfFourHundredIsReadAndMoreIsAnError) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseElement(nested(400)).ok());
  const auto deeper = ParseElement(nested(401));
  ASSERT_FALSE(deeper.ok());
  EXPECT_NE(deeper.error().message.find("nested"), std::string::npos) << deeper.error().message;
  EXPECT_FALSE(ParseElement(std::string(10'000'000, '[')).ok());
}

TEST(ParseElementTest, TellsTensorsTypedValuesAndDictsApart) {
  const Element tensor = Parsed(R"({"shape": [2, 0], "dtype": "torch.float32", "type": "torch.Tensor", "Max": true,
      "Min": null, "Mean": 0.5, "Norm": 3, "stride": [1, 2], "storage_offset": 4, "md5": "00000000", "new": [1]})");
  ASSERT_NE(tensor.tensor(), nullptr);
  const TensorElement& t = *tensor.tensor();
  EXPECT_EQ(t.type, "torch.Tensor");
  EXPECT_EQ(t.dtype, "torch.float32");
  EXPECT_EQ(t.shape, (std::vector<std::int64_t>{2, 0}));
  EXPECT_EQ(t.max, StatisticValue(true));
  EXPECT_EQ(t.min, StatisticValue());
  EXPECT_EQ(t.mean, StatisticValue(0.5));
  EXPECT_EQ(t.norm, StatisticValue(std::int64_t{3}));
  EXPECT_EQ(t.requires_grad, std::nullopt);
  EXPECT_EQ(t.stride, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(t.storage_offset, 4);
  EXPECT_EQ(t.md5, "00000000");
  ASSERT_EQ(t.extra.size(), 1U);
  EXPECT_EQ(t.extra[0].key, "new");

  for (const char* type : {"mindspore.Tensor", "numpy.ndarray", "torch.nn.parameter.Parameter", "GradTrackingTensor"}) {
    EXPECT_NE(Parsed(R"({"type": ")" + std::string(type) + R"(", "dtype": "x", "shape": []})").tensor(), nullptr)
        << type;
  }
  for (const char* text :
       {R"({"type": "str", "dtype": "x", "shape": []})", R"({"type": "torch.Tensor", "shape": []})",
        R"({"type": "torch.Tensor", "dtype": "x"})", R"({"type": "torch.Tensor", "dtype": "x", "shape": [1.5]})",
        R"({"type": "torch.Tensor", "dtype": 1, "shape": []})", R"({"type": 1, "dtype": "x", "shape": []})", "{}",
        R"({"type": "int"})", R"({"type": 1, "value": 2})", R"({"type": "int", "value": 2, "more": 3})",
        R"({"type": "int", "type": "int"})"}) {
    EXPECT_NE(Parsed(text).object(), nullptr) << text;
  }
  const Element typed = Parsed(R"({"value": [null, 2, null], "type": "slice"})");
  ASSERT_NE(typed.typed(), nullptr);
  EXPECT_EQ(typed.typed()->type, "slice");
  ASSERT_NE(typed.typed()->value.list(), nullptr);
  EXPECT_EQ(typed.typed()->value.list()->size(), 3U);
}

TEST(ParseElementTest, KeepsMembersOfUnknownFormAndDuplicates) {
  const std::string text =
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [], "Max": 1.0, "Max": 2.0, "Min": "x", )"
      R"("md5": "", "data_name": null, "requires_grad": 1})";
  const Element element = Parsed(text);
  ASSERT_NE(element.tensor(), nullptr);
  EXPECT_EQ(element.tensor()->max, StatisticValue(1.0));
  std::string out;
  AppendJson(out, element);
  EXPECT_EQ(out, text);
}

TEST(ParseRecordTest, SectionsStayAnObjectAndOtherValuesAreErrors) {
  const auto record = ParseRecord("n", R"({"type": "int", "value": [1]})");
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->name, "n");
  ASSERT_NE(record->Section("value"), nullptr);
  EXPECT_NE(record->Section("value")->list(), nullptr);
  for (const char* text : {"3", "null", "[]", "\"x\""}) {
    const auto other = ParseRecord("bad.name", text);
    ASSERT_FALSE(other.ok()) << text;
    EXPECT_NE(other.error().message.find("bad.name"), std::string::npos) << other.error().message;
  }
}

TEST(RoundTripTest, RandomRecordsAreEqualAfterWritingAndReading) {
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    RandomElements random(seed);
    const Record record = random.AnyRecord("r");
    const std::string text = Json(record);
    ASSERT_EQ(text.find('\n'), std::string::npos);
    const auto again = ParseRecord("r", text);
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << text;
    ASSERT_EQ(again->sections.size(), record.sections.size());
    for (std::size_t i = 0; i < record.sections.size(); ++i) {
      ASSERT_EQ(again->sections[i].key, record.sections[i].key);
      ASSERT_TRUE(again->sections[i].value == record.sections[i].value) << "seed " << seed << "\n" << text;
    }
  }
}

TEST(RoundTripTest, RandomDoublesAreEqualAfterWritingAndReading) {
  RandomElements random(7);
  for (int i = 0; i < 200'000; ++i) {
    const double value = random.Double();
    std::string text;
    AppendJsonDouble(text, value);
    const auto again = ParseElement(text);
    ASSERT_TRUE(again.ok() && *again == Element(value)) << text;
  }
}

/// Reads, writes and reads again; the files of this project, and of a folder named by MSPROBE_PEER_DIR if there is one.
void ExpectRoundTrip(const std::string& path) {
  std::size_t count = 0;
  const auto index = ReadDump(path, [&](Record&& record) {
    ++count;
    const auto again = ParseRecord(record.name, Json(record));
    EXPECT_TRUE(again.ok() && again->sections.size() == record.sections.size()) << path << ": " << record.name;
    if (!again.ok()) return false;
    for (std::size_t i = 0; i < record.sections.size(); ++i) {
      EXPECT_TRUE(again->sections[i].value == record.sections[i].value) << path << ": " << record.name;
    }
    return true;
  });
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_FALSE(index->truncated) << index->truncation;
  EXPECT_EQ(index->records.size(), count);
  EXPECT_GT(count, 0U);
}

TEST(RoundTripTest, SampleDumps) {
  ExpectRoundTrip(TestData("dumps/generation_1.json"));
  ExpectRoundTrip(TestData("dumps/newest_generation.json"));
}

TEST(RoundTripTest, DumpsOfOtherCollectors) {
  const char* named = std::getenv("MSPROBE_PEER_DIR");
  const std::filesystem::path root =
      std::filesystem::path(named != nullptr ? named : std::string(MSPROBE_TEST_CASES) + "/../../../shared/peer") /
      "pytorch/dumps";
  if (!std::filesystem::is_directory(root)) GTEST_SKIP() << "no folder " << root;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string path = (entry.path() / "dump.json").string();
    if (std::filesystem::exists(path)) ExpectRoundTrip(path);
  }
}

TEST(IndexDumpTest, HeaderAndPositions) {
  const std::string path = TestData("dumps/generation_1.json");
  const auto index = IndexDump(path);
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_TRUE(index->has_data);
  EXPECT_FALSE(index->truncated);
  EXPECT_EQ(index->header.task, "tensor");
  EXPECT_EQ(index->header.level, "L1");
  EXPECT_EQ(index->header.framework, "");
  EXPECT_EQ(index->header.dump_data_dir, "./out/step0/rank0/dump_tensor_data");
  EXPECT_EQ(Names(*index), (Strings{"Functional.softplus.0.forward", "Tensor.__getitem__.0.forward",
                                    "Torch.ones.0.forward", "Functional.softplus.0.backward"}));

  const auto reader = RecordTextReader::Open(path);
  ASSERT_TRUE(reader.ok());
  for (const RecordPosition& position : index->records) {
    const auto text = reader->Read(position);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->front(), '{');
    EXPECT_EQ(text->back(), '}');
    EXPECT_TRUE(ParseRecord(position.name, *text).ok());
  }
  EXPECT_FALSE(reader->Read({"gone", 1'000'000, 10}).ok());
  EXPECT_FALSE(reader->Read({"huge", 0, std::uint64_t{1} << 40U}).ok());
}

TEST(IndexDumpTest, KeysAfterTheDataAndDuplicates) {
  const auto index = IndexDump(TestData("dumps/older_with_late_header.json"));
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->header.task, "statistics");
  EXPECT_EQ(index->header.dump_data_dir, "late");
  ASSERT_EQ(index->header.extra.size(), 1U);
  EXPECT_EQ(index->header.extra[0].key, "extra_key");
  EXPECT_EQ(Names(*index), (Strings{"Tensor.mul.0.forward", "Tensor.mul.0.forward"}));
  EXPECT_EQ(index->records[1].size, 1U) << "a record that is no object keeps its position";
}

TEST(IndexDumpTest, FolderNullMissingOrOfAnotherKind) {
  const auto null = Index(R"({"dump_data_dir": null, "data": {}})");
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE(null->header.has_dump_data_dir);
  EXPECT_EQ(null->header.dump_data_dir, std::nullopt);
  EXPECT_TRUE(null->has_data);
  EXPECT_TRUE(null->records.empty());
  EXPECT_TRUE(null->header.extra.empty());

  const auto missing = Index(R"({"task": "statistics"})");
  ASSERT_TRUE(missing.ok());
  EXPECT_FALSE(missing->header.has_dump_data_dir);
  EXPECT_FALSE(missing->has_data);
  EXPECT_FALSE(missing->truncated);

  const auto other = Index(R"({"dump_data_dir": 5, "task": [], "data": null})");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->header.has_dump_data_dir);
  EXPECT_EQ(other->header.dump_data_dir, std::nullopt);
  EXPECT_EQ(other->header.extra.size(), 2U);
  EXPECT_FALSE(other->has_data);
}

TEST(IndexDumpTest, AByteOrderMarkIsTolerated) {
  const auto index = Index("\xEF\xBB\xBF{\"data\": {\"a\": {}}}");
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(Names(*index), Strings{"a"});
  EXPECT_EQ(index->records[0].offset, 3U + 15U);
}

TEST(IndexDumpTest, WhatIsNoDumpIsAnError) {
  for (const char* text : {"", " \n", "\xEF\xBB\xBF", "[1]", "3", "\"x\"", "PK\x03\x04", "data"}) {
    const auto index = Index(text);
    ASSERT_FALSE(index.ok()) << text;
    EXPECT_EQ(index.error().code, ErrorCode::kInput);
    EXPECT_NE(index.error().message.find("dump.json"), std::string::npos) << index.error().message;
  }
  const TemporaryFolder folder;
  EXPECT_FALSE(IndexDump(folder / "missing.json").ok());
  ASSERT_EQ(::mkfifo((folder / "pipe.json").c_str(), 0600), 0);
  EXPECT_FALSE(IndexDump(folder / "pipe.json").ok());
}

TEST(IndexDumpTest, EveryCutOfAFileGivesTheCompleteRecords) {
  const std::string text =
      "{\"task\": \"statistics\", \"data\": {\n  \"a\": {\"x\": [1, \"}\\\"\"]},\n  \"b\": {},\n  \"c\": 3\n }\n}\n";
  const std::size_t after_a = text.find("]},") + 2;
  const std::size_t after_b = text.find("{},") + 2;
  const std::size_t after_c = text.find("3\n") + 2;  // a number is complete only when something follows
  const std::size_t whole = text.rfind('}') + 1;
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const auto index = Index(text.substr(0, size));
    ASSERT_TRUE(index.ok()) << size << index.error().message;
    Strings expected;
    if (size >= after_a) expected.push_back("a");
    if (size >= after_b) expected.push_back("b");
    if (size >= after_c) expected.push_back("c");
    EXPECT_EQ(Names(*index), expected) << size;
    EXPECT_EQ(index->truncated, size < whole) << size;
    if (index->truncated) {
      EXPECT_NE(index->truncation.find("at byte " + std::to_string(size)), std::string::npos) << index->truncation;
    }
  }
}

TEST(IndexDumpTest, BreaksAreFoundInside) {
  const std::string start = "{\"data\": {\"a\": {}, ";
  for (const std::string& rest :
       {std::string("\"b\": {\"x\": ") + std::string(1, '\0') + "1}}}",
        std::string("\"b\": {\"x") + std::string(1, '\0') + "\": 1}}}", std::string("\"b\" {}}}"),
        std::string("b: {}}}"), std::string("\"b\": }}"), std::string("}}"), std::string(", \"b\": {}}}")}) {
    const auto index = Index(start + rest);
    ASSERT_TRUE(index.ok());
    EXPECT_TRUE(index->truncated) << rest;
    EXPECT_EQ(Names(*index), Strings{"a"}) << rest;
  }
  const auto more = Index("{\"data\": {\"a\": {}}} {");
  ASSERT_TRUE(more.ok());
  EXPECT_TRUE(more->truncated);
  EXPECT_EQ(Names(*more), Strings{"a"});
}

TEST(IndexDumpTest, DeepNestingCostsNoStack) {
  const auto index =
      Index("{\"data\": {\"deep\": " + std::string(2'000'000, '[') + std::string(2'000'000, ']') + ", \"next\": {}}}");
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(Names(*index), (Strings{"deep", "next"}));
}

TEST(IndexDumpTest, NothingIsLostWhereChunksMeet) {
  // Strings, escapes, names and numbers move over the ends of the read buffer.
  RandomElements random(3);
  std::string text = "{\"task\": \"statistics\", \"data\": {";
  Strings names;
  std::vector<std::string> values;
  while (text.size() < 3'000'000) {
    names.push_back("n" + std::to_string(names.size()) + random.Text());
    std::string value = "{\"s\": \"";
    for (std::uint64_t i = random.Below(3000); i > 0; --i) value += random.Below(2) == 0 ? "\\\\" : "\\\"";
    value += "\", \"n\": 12345678901}";
    if (values.size() > 0) text += ",";
    AppendJsonString(text, names.back());
    text += std::string(random.Below(300), ' ') + ":" + std::string(random.Below(300), '\n') + value;
    values.push_back(value);
  }
  text += "}}";
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  WriteText(path, text);
  const auto index = IndexDump(path);
  ASSERT_TRUE(index.ok());
  EXPECT_FALSE(index->truncated) << index->truncation;
  ASSERT_EQ(Names(*index), names);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(text.substr(index->records[i].offset, index->records[i].size), values[i]) << i;
  }
  std::size_t seen = 0;
  const auto read = ReadDump(path, [&](Record&& record) {
    EXPECT_EQ(record.name, names[seen]);
    EXPECT_EQ(Json(record), values[seen]);
    return ++seen > 0;
  });
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(seen, values.size());
}

TEST(ReadDumpTest, StopsWhenAskedAndReportsRecordsThatCannotBeUsed) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  WriteText(path, R"({"data": {"a": {}, "b": {}, "c": 3}})");
  int seen = 0;
  const auto stopped = ReadDump(path, [&](Record&&) { return ++seen < 2; });
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(seen, 2);
  EXPECT_FALSE(stopped->truncated);

  const auto failed = ReadDump(path, [&](Record&&) { return true; });
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find(path), std::string::npos) << failed.error().message;
  EXPECT_NE(failed.error().message.find("record c"), std::string::npos) << failed.error().message;
}

TEST(ReadDumpTest, ATornFileGivesItsCompleteRecords) {
  const std::string text = ReadText(TestData("dumps/generation_1.json"));
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  WriteText(path, text.substr(0, text.find("\"Torch.ones") + 200));
  Strings names;
  const auto index = ReadDump(path, [&](Record&& record) {
    names.push_back(record.name);
    return true;
  });
  ASSERT_TRUE(index.ok());
  EXPECT_TRUE(index->truncated);
  EXPECT_EQ(names, (Strings{"Functional.softplus.0.forward", "Tensor.__getitem__.0.forward"}));
}

}  // namespace
}  // namespace msprobe
