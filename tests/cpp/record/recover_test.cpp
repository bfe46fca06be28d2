#include "record/recover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "record/dump_reader.h"
#include "record/json_journal.h"
#include "record/record_samples.h"
#include "record/temporary_folder.h"

namespace msprobe {
namespace {

/// Recovers a file of this text and returns its new text.
std::string Recovered(const std::string& text, RecoveredFile& recovered) {
  const TemporaryFolder folder;
  const std::string path = folder / "file.json";
  WriteText(path, text);
  const auto result = RecoverJsonFile(path);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (result.ok()) recovered = *result;
  return ReadText(path);
}

TEST(RecoverTest, WholeFilesAreLeftAsTheyAre) {
  for (const char* name : {"generation_1.json", "newest_generation.json", "older_with_late_header.json"}) {
    const std::string text = ReadText(TestData(std::string("dumps/") + name));
    RecoveredFile recovered;
    EXPECT_EQ(Recovered(text, recovered), text);
    EXPECT_FALSE(recovered.was_torn) << recovered.break_text;
    EXPECT_GT(recovered.members, 0U);
  }
}

TEST(RecoverTest, EveryCutOfADumpBecomesValidAndKeepsTheCompleteRecords) {
  const TemporaryFolder folder;
  const std::string torn_path = folder / "torn.json";
  const std::string text = ReadText(TestData("dumps/older_with_late_header.json"));
  for (std::size_t size = 1; size < text.size(); size += 3) {
    WriteText(torn_path, text.substr(0, size));
    const auto before = IndexDump(torn_path);
    ASSERT_TRUE(before.ok());
    const auto recovered = RecoverJsonFile(torn_path);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message;
    EXPECT_EQ(recovered->was_torn, before->truncated);
    EXPECT_EQ(recovered->was_torn, !recovered->break_text.empty());
    EXPECT_EQ(recovered->members, before->records.size());
    const auto after = IndexDump(torn_path);
    ASSERT_TRUE(after.ok());
    EXPECT_FALSE(after->truncated) << size << ": " << ReadText(torn_path);
    EXPECT_EQ(after->records.size(), before->records.size());
    EXPECT_TRUE(ParseElement(ReadText(torn_path)).ok()) << size << ": " << ReadText(torn_path);
    const auto again = RecoverJsonFile(torn_path);
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(again->was_torn);
  }
}

TEST(RecoverTest, FilesWithoutData) {
  RecoveredFile recovered;
  EXPECT_EQ(Recovered("{\n \"a\": [\"x\"],\n \"b\": [\"to", recovered), "{\n \"a\": [\"x\"]\n}\n");
  EXPECT_EQ(recovered.members, 1U);
  EXPECT_TRUE(recovered.was_torn);
  EXPECT_EQ(Recovered("{", recovered), "{\n}\n");
  EXPECT_EQ(Recovered("{\"task\": \"x\", \"data\": {", recovered), "{\"task\": \"x\", \"data\": {\n }\n}\n");
  EXPECT_EQ(Recovered("{\"data\": {\"a\": {}}, \"task\": \"x", recovered), "{\"data\": {\"a\": {}}\n}\n");
  EXPECT_EQ(Recovered("{\"a\": 1}\n}\n}", recovered), "{\"a\": 1}\n");
  EXPECT_EQ(Recovered("{\"data\": {\"a\": {}, \"b\": {\"x\" 3}, \"c\": {}}}", recovered),
            "{\"data\": {\"a\": {}\n }\n}\n")
      << "a record whose brackets match, but that is no JSON";
  EXPECT_EQ(recovered.members, 1U);
}

TEST(RecoverTest, WhatMayNotBeTouched) {
  const TemporaryFolder folder;
  for (const char* text : {"", "[1, 2", "text"}) {
    WriteText(folder / "other.json", text);
    EXPECT_FALSE(RecoverJsonFile(folder / "other.json").ok()) << text;
    EXPECT_EQ(ReadText(folder / "other.json"), text);
  }
  EXPECT_FALSE(RecoverJsonFile(folder / "missing.json").ok());

  WriteText(folder / "target.json", "{\"a\": [");
  ASSERT_EQ(::symlink((folder / "target.json").c_str(), (folder / "link.json").c_str()), 0);
  EXPECT_FALSE(RecoverJsonFile(folder / "link.json").ok());
  EXPECT_EQ(ReadText(folder / "target.json"), "{\"a\": [");
}

TEST(RecoverTest, AFileThatIsStillWrittenIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  {
    auto journal = JsonJournal::Create(path, "{", "\n}\n", " ");
    ASSERT_TRUE(journal.ok());
    const auto recovered = RecoverJsonFile(path);
    ASSERT_FALSE(recovered.ok());
    EXPECT_NE(recovered.error().message.find("still being written"), std::string::npos) << recovered.error().message;
  }
  EXPECT_TRUE(RecoverJsonFile(path).ok());
}

}  // namespace
}  // namespace msprobe
