#include "check/result_writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <random>

#include "base/csv.h"
#include "check/check_samples.h"

namespace msprobe {
namespace {

JournalHeader Header(const CheckPlan& plan) { return {"plan", plan.cases.size(), {{"--seed", "1"}}, 0}; }

TEST(ResultFiles, NamesOfAStamp) {
  const ResultFiles files = ResultFilesFor("/out", "20240102030405");
  EXPECT_EQ(files.result, "/out/accuracy_checking_result_20240102030405.csv");
  EXPECT_EQ(files.details, "/out/accuracy_checking_details_20240102030405.csv");
  EXPECT_EQ(files.device, "/out/accuracy_checking_details_20240102030405.device");
  EXPECT_EQ(files.journal, "/out/accuracy_checking_result_20240102030405.csv.journal");
}

TEST(ResultFiles, StepOverTakenStamps) {
  TemporaryFolder folder;
  WriteText(folder.path() + "/accuracy_checking_result_20241231235959.csv", "");
  WriteText(folder.path() + "/accuracy_checking_details_20250101000000.csv", "");
  WriteText(folder.path() + "/ut_error_data20250101000001", "");
  const auto take = [&](const std::string& error_prefix) {
    auto files = TakeResultFiles(folder.path(), "20241231235959", error_prefix);
    EXPECT_TRUE(files.ok()) << files.error().message;
    return *files;
  };
  const ResultFiles first = take(folder.path() + "/ut_error_data");
  EXPECT_EQ(first.stamp, "20250101000002");
  EXPECT_EQ(take("").stamp, "20250101000001");
  // Taken before there is any row.
  EXPECT_EQ(take("").stamp, "20250101000003");
  ReleaseResultFiles(first);
  EXPECT_EQ(take("").stamp, "20250101000002");
  // A journal that has been begun is not given back.
  WriteText(first.journal, "{}\n");
  ReleaseResultFiles(first);
  EXPECT_EQ(ReadText(first.journal), "{}\n");
  EXPECT_FALSE(TakeResultFiles(folder.path() + "/absent", "20250101000000", "").ok());
}

TEST(ResultFiles, OnlyTheFileNameIsLookedAt) {
  TemporaryFolder folder;
  const std::string inner = folder.path() + "/out.v1_result_";
  ASSERT_EQ(::mkdir(inner.c_str(), 0750), 0);
  const std::string path = inner + "/accuracy_checking_result_20240101000000.csv";
  WriteText(path, "");
  auto files = ExistingResultFiles(path);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(files->stamp, "20240101000000");
  EXPECT_EQ(files->details, inner + "/accuracy_checking_details_20240101000000.csv");
  WriteText(inner + "/accuracy_checking_result_2024010100000.csv", "");
  EXPECT_FALSE(ExistingResultFiles(inner + "/accuracy_checking_result_2024010100000.csv").ok());
  EXPECT_FALSE(ExistingResultFiles(inner + "/accuracy_checking_result_20240101000001.csv").ok());
}

class ResultWriterTest : public ::testing::Test {
 protected:
  ResultWriterTest() : plan_(PlanOf({"Torch.a.0", "Torch.b.0", "Torch.c.0", "Torch.d.0", "Torch.e.0"})) {
    plan_.cases[2].skip_reason = "not, wanted";
  }

  ResultWriter Create() {
    auto writer = ResultWriter::Create(files_, plan_, Header(plan_), "cpu");
    EXPECT_TRUE(writer.ok()) << writer.error().message;
    return std::move(*writer);
  }
  Result<ResultWriter> Resume() { return ResultWriter::Resume(files_, plan_, Header(plan_), "cpu"); }

  CaseRows Rows(std::size_t index) const { return PassRows(plan_.cases[index].full_name, static_cast<int>(index) + 1); }

  /// What a run without interruption writes.
  const std::pair<std::string, std::string>& Whole() {
    if (!whole_.first.empty()) return whole_;
    TemporaryFolder other;
    const ResultFiles files = ResultFilesFor(other.path(), "20240101000000");
    auto writer = ResultWriter::Create(files, plan_, Header(plan_), "cpu");
    for (const std::size_t i : writer->to_run()) EXPECT_TRUE(writer->Add(i, Rows(i)).ok());
    EXPECT_TRUE(writer->Finish().ok());
    whole_ = {ReadText(files.result), ReadText(files.details)};
    return whole_;
  }

  void FinishAndCompare(ResultWriter& writer) {
    for (const std::size_t i : writer.to_run()) ASSERT_TRUE(writer.Add(i, Rows(i)).ok());
    ASSERT_TRUE(writer.Finish().ok());
    EXPECT_EQ(ReadText(files_.result), Whole().first);
    EXPECT_EQ(ReadText(files_.details), Whole().second);
    struct stat info = {};
    EXPECT_NE(::stat(files_.journal.c_str(), &info), 0);
    EXPECT_EQ(writer.counts().pass, 4U);
    EXPECT_EQ(writer.counts().skip, 1U);
  }

  TemporaryFolder folder_;
  ResultFiles files_ = ResultFilesFor(folder_.path(), "20240101000000");
  CheckPlan plan_;
  std::pair<std::string, std::string> whole_;
};

TEST_F(ResultWriterTest, WritesTheDocumentedDialect) {
  auto writer = Create();
  EXPECT_EQ(writer.to_run(), (std::vector<std::size_t>{0, 1, 3, 4}));
  FinishAndCompare(writer);
  const std::string result = ReadText(files_.result);
  EXPECT_EQ(result.substr(0, result.find("Torch.d")),
            "\xEF\xBB\xBF"
            "API name,Forward Test Success,Backward Test Success,Message\r\n"
            "Torch.a.0,pass, ,\r\nTorch.b.0,pass, ,\r\nTorch.c.0,SKIP,SKIP,\"not, wanted\"\r\n");
  EXPECT_NE(ReadText(files_.details).find(",pass,\"line one\nline \"\"two\"\", done\"\r\n"), std::string::npos);
  EXPECT_EQ(ReadText(files_.device), "cpu\n");
}

TEST_F(ResultWriterTest, AnyOrderOfFinishingGivesTheSameBytes) {
  std::vector<std::size_t> order = {0, 1, 3, 4};
  std::mt19937 random(1);
  for (int round = 0; round < 24; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    files_ = ResultFilesFor(folder_.path(), std::to_string(20240101000000 + round));
    auto writer = Create();
    for (const std::size_t i : order) ASSERT_TRUE(writer.Add(i, Rows(i)).ok());
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_EQ(ReadText(files_.result), Whole().first);
    ASSERT_EQ(ReadText(files_.details), Whole().second);
  }
}

TEST_F(ResultWriterTest, RowsAreThereAsSoonAsAllBeforeThemAre) {
  auto writer = Create();
  ASSERT_TRUE(writer.Add(1, Rows(1)).ok());
  EXPECT_EQ(ReadText(files_.result).find("Torch.b.0"), std::string::npos);
  ASSERT_TRUE(writer.Add(0, Rows(0)).ok());
  EXPECT_NE(ReadText(files_.result).find("Torch.b.0"), std::string::npos);
  EXPECT_NE(ReadText(files_.result).find("Torch.c.0,SKIP"), std::string::npos);
}

TEST_F(ResultWriterTest, NeverReplacesAFile) {
  WriteText(files_.details, "keep me");
  EXPECT_FALSE(ResultWriter::Create(files_, plan_, Header(plan_), "cpu").ok());
  EXPECT_EQ(ReadText(files_.details), "keep me");
}

TEST_F(ResultWriterTest, RefusesRowsGivenTwiceAndAnIncompleteEnd) {
  auto writer = Create();
  ASSERT_TRUE(writer.Add(0, Rows(0)).ok());
  EXPECT_FALSE(writer.Add(0, Rows(0)).ok());
  ASSERT_TRUE(writer.Add(3, Rows(3)).ok());
  EXPECT_FALSE(writer.Add(3, Rows(3)).ok());
  EXPECT_FALSE(writer.Finish().ok());
}

TEST_F(ResultWriterTest, ContinuesAfterACutOfEitherCsvAtEveryByte) {
  {
    auto writer = Create();
    for (const std::size_t i : {0U, 1U, 4U}) ASSERT_TRUE(writer.Add(i, Rows(i)).ok());
  }
  const std::string journal = ReadText(files_.journal);
  for (const std::string* path : {&files_.result, &files_.details}) {
    const std::string whole = ReadText(*path);
    for (std::size_t size = 0; size <= whole.size(); size += 7) {
      SCOPED_TRACE(*path + " cut to " + std::to_string(size));
      WriteText(*path, whole.substr(0, size));
      WriteText(files_.journal, journal);
      auto writer = Resume();
      ASSERT_TRUE(writer.ok()) << writer.error().message;
      ASSERT_EQ(writer->to_run(), (std::vector<std::size_t>{3}));
      FinishAndCompare(*writer);
    }
  }
}

TEST_F(ResultWriterTest, WithoutAJournalCompleteRowsStay) {
  {
    auto writer = Create();
    for (const std::size_t i : {0U, 1U, 3U}) ASSERT_TRUE(writer.Add(i, Rows(i)).ok());
  }
  ASSERT_EQ(::remove(files_.journal.c_str()), 0);
  auto writer = Resume();
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  EXPECT_EQ(writer->to_run(), (std::vector<std::size_t>{4}));
  ASSERT_EQ(writer->warnings().size(), 1U);
  FinishAndCompare(*writer);
}

TEST_F(ResultWriterTest, WithoutAJournalACutAtAnyByteLosesOneApiAtMost) {
  {
    auto writer = Create();
    for (const std::size_t i : {0U, 1U, 3U}) ASSERT_TRUE(writer.Add(i, Rows(i)).ok());
  }
  const std::string result = ReadText(files_.result);
  const std::string details = ReadText(files_.details);
  const std::size_t last_api = details.find("Torch.d.0");
  for (std::size_t size = last_api; size < details.size(); size += 5) {
    SCOPED_TRACE(size);
    WriteText(files_.result, result);
    WriteText(files_.details, details.substr(0, size));
    ::remove(files_.journal.c_str());
    auto writer = Resume();
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    // A cut between two rows of the API cannot be seen: nothing says how many there are.
    const bool unseen = size > last_api && (details[size - 1] == '\n' || details[size - 1] == '\r');
    if (unseen) continue;
    EXPECT_TRUE(std::count(writer->to_run().begin(), writer->to_run().end(), 3U) == 1);
    EXPECT_LE(writer->to_run().size(), 3U);
    for (const std::size_t i : writer->to_run()) ASSERT_TRUE(writer->Add(i, Rows(i)).ok());
    ASSERT_TRUE(writer->Finish().ok());
    std::vector<std::string> names;
    ASSERT_TRUE(ReadCsv(files_.details, [&](std::size_t, std::vector<std::string>&& cells) {
                  EXPECT_EQ(cells.size(), kDetailsColumns);
                  names.push_back(cells[0]);
                  return true;
                }).ok());
    EXPECT_EQ(names.size(), 1U + 1 + 2 + 1 + 4 + 5);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  }
}

TEST_F(ResultWriterTest, OtherSettingsOrAnotherDeviceAreRefusedAndTouchNothing) {
  {
    auto writer = Create();
    ASSERT_TRUE(writer.Add(0, Rows(0)).ok());
  }
  const std::string before = ReadText(files_.result) + ReadText(files_.details) + ReadText(files_.journal);
  JournalHeader other = Header(plan_);
  other.settings[0].second = "2";
  auto writer = ResultWriter::Resume(files_, plan_, other, "cpu");
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().message.find("--seed was '1', now it is '2'"), std::string::npos);
  EXPECT_FALSE(ResultWriter::Resume(files_, plan_, Header(plan_), "npu").ok());
  EXPECT_EQ(ReadText(files_.result) + ReadText(files_.details) + ReadText(files_.journal), before);
}

TEST(Outcome, ErrorOverWarningOverSkipOverPass) {
  EXPECT_EQ(OutcomeOf("pass", "error"), Outcome::kError);
  EXPECT_EQ(OutcomeOf("error", "pass"), Outcome::kError);
  EXPECT_EQ(OutcomeOf("pass", "Warning"), Outcome::kWarning);
  EXPECT_EQ(OutcomeOf("SKIP", "SKIP"), Outcome::kSkip);
  EXPECT_EQ(OutcomeOf("pass", "SKIP"), Outcome::kPass);
  EXPECT_EQ(OutcomeOf("pass", " "), Outcome::kPass);
}

}  // namespace
}  // namespace msprobe
