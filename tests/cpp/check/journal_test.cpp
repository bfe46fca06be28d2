#include "check/journal.h"

#include <unistd.h>

#include "check/check_samples.h"
#include "check/rows_json.h"

namespace msprobe {
namespace {

JournalHeader Header() { return {"0123456789abcdef", 3, {{"--seed", "1234"}, {"device type", "cpu"}}, 0}; }

TEST(RowsJson, ComesBackEqual) {
  CaseRows rows = PassRows("Torch.\"a\"\\.0", 2);
  rows.message = "tab\t, line\nend, \xE4\xBD\x99, emoji \xF0\x9F\x98\x80";
  std::string text;
  AppendRowsJson(text, rows);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  auto back = ParseRowsJson(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->name, rows.name);
  EXPECT_EQ(back->message, rows.message);
  EXPECT_EQ(back->details, rows.details);
}

TEST(RowsJson, RefusesWhatIsNoRow) {
  const std::string cells = "[" + [] {
    std::string text = "\"a\"";
    for (std::size_t i = 1; i < kDetailsColumns; ++i) text += ", \" \"";
    return text;
  }() + "]";
  const std::string good =
      R"({"result": {"forward": "pass", "backward": " ", "message": ""}, "details": [)" + cells + "]}";
  EXPECT_TRUE(ParseRowsJson(good).ok());
  for (const std::string& bad : std::vector<std::string>{
           "", "[]", "{", R"({"details": []})",
           R"({"result": {"forward": "maybe", "backward": " ", "message": ""}, "details": []})",
           R"({"result": {"forward": "pass", "backward": "", "message": ""}, "details": []})",
           R"({"result": {"forward": "pass", "backward": " "}, "details": []})",
           R"({"result": {"forward": "pass", "backward": " ", "message": ""}})",
           R"({"result": {"forward": "pass", "backward": " ", "message": ""}, "details": [["a"]]})",
           R"({"result": {"forward": "pass", "backward": " ", "message": ""}, "details": [3]})",
           std::string(100'000, '[')}) {
    EXPECT_FALSE(ParseRowsJson(bad).ok()) << bad.substr(0, 100);
  }
}

class JournalTest : public ::testing::Test {
 protected:
  /// Makes a journal with these rows and closes it.
  void Write(const std::vector<std::string>& names) {
    auto journal = Journal::Create(path_, Header());
    ASSERT_TRUE(journal.ok()) << journal.error().message;
    for (const std::string& name : names) ASSERT_TRUE(journal->Append(PassRows(name, 2)).ok());
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/result.csv.journal";
};

TEST_F(JournalTest, GivesBackHeaderAndRows) {
  Write({"Torch.b.0", "Torch.a.0"});
  auto opened = Journal::Open(path_);
  ASSERT_TRUE(opened.ok());
  ASSERT_TRUE(opened->has_header);
  EXPECT_EQ(Difference(opened->header, Header()), "");
  ASSERT_EQ(opened->entries.size(), 2U);
  EXPECT_EQ(opened->entries[0].name, "Torch.b.0");
  auto rows = opened->journal.Read(opened->entries[1]);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->details, PassRows("Torch.a.0", 2).details);
}

TEST_F(JournalTest, SurvivesACutAtEveryByte) {
  Write({"Torch.a.0", "Torch.b.0"});
  const std::string whole = ReadText(path_);
  const std::size_t header_end = whole.find('\n') + 1;
  const std::size_t first_end = whole.find('\n', header_end) + 1;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    WriteText(path_, whole.substr(0, size));
    {
      auto opened = Journal::Open(path_);
      ASSERT_TRUE(opened.ok()) << size;
      EXPECT_EQ(opened->has_header, size >= header_end) << size;
      if (!opened->has_header) continue;
      EXPECT_EQ(opened->entries.size(), (size >= first_end ? 1U : 0U) + (size == whole.size() ? 1U : 0U)) << size;
      ASSERT_TRUE(opened->journal.Append(PassRows("Torch.c.0")).ok());
    }
    auto again = Journal::Open(path_);
    ASSERT_TRUE(again.ok() && !again->entries.empty()) << size;
    EXPECT_EQ(again->entries.back().name, "Torch.c.0");
    ASSERT_TRUE(again->journal.Read(again->entries.back()).ok());
  }
}

TEST_F(JournalTest, LeavesOutDamagedLines) {
  Write({"Torch.a.0", "Torch.b.0"});
  std::string text = ReadText(path_);
  text[text.find("\"details\"")] = '!';
  text += "\n{}\nnonsense\n\x01\x02\n";
  WriteText(path_, text);
  auto opened = Journal::Open(path_);
  ASSERT_TRUE(opened.ok());
  ASSERT_EQ(opened->entries.size(), 1U);
  EXPECT_EQ(opened->entries[0].name, "Torch.b.0");
}

TEST_F(JournalTest, IsLockedWhileItIsOpen) {
  auto journal = Journal::Create(path_, Header());
  ASSERT_TRUE(journal.ok());
  auto second = Journal::Open(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("another run"), std::string::npos);
}

TEST_F(JournalTest, IsNotWrittenThroughALink) {
  const std::string precious = folder_.path() + "/precious";
  WriteText(precious, "keep me");
  ASSERT_EQ(::symlink(precious.c_str(), path_.c_str()), 0);
  EXPECT_FALSE(Journal::Create(path_, Header()).ok());
  EXPECT_FALSE(Journal::Open(path_).ok());
  EXPECT_EQ(ReadText(precious), "keep me");
}

TEST(JournalDifference, NamesTheFirstOne) {
  JournalHeader now = Header();
  now.settings[0].second = "7";
  EXPECT_EQ(Difference(Header(), now), "--seed was '1234', now it is '7'");
  now = Header();
  now.settings.emplace_back("-f", "on");
  EXPECT_EQ(Difference(Header(), now), "-f was not set, now it is 'on'");
  EXPECT_EQ(Difference(now, Header()), "-f was 'on', now it is not set");
  now = Header();
  now.cases = 4;
  EXPECT_NE(Difference(Header(), now).find("3"), std::string::npos);
  now = Header();
  now.plan = "other";
  EXPECT_NE(Difference(Header(), now).find("dump.json"), std::string::npos);
  now = Header();
  now.kept_rows = 9;
  EXPECT_EQ(Difference(Header(), now), "");
}

}  // namespace
}  // namespace msprobe
