// debug.json, its place beside the other files, totals, and the folder of a rank that becomes known late.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/temporary_folder.h"
#include "collect/collector.h"
#include "record/dump_reader.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

std::string Text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class SavedValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    settings_.dump_path = folder_.string();
    UseLevel(Level::kDebug, "debug");
    UseTask(Task::kStatistics, "statistics");
  }

  void UseLevel(Level level, const char* name) {
    settings_.level = level;
    settings_.level_name = name;
  }
  void UseTask(Task task, const char* name) {
    settings_.task = task;
    settings_.task_name = name;
  }
  fs::path Step(int step, const std::string& rank = "rank") const {
    return folder_ / ("step" + std::to_string(step)) / rank;
  }
  static std::vector<std::string> Names(const fs::path& file) {
    std::vector<std::string> names;
    const auto index = IndexDump(file.string());
    EXPECT_TRUE(index.ok());
    for (const RecordPosition& position : index->records) names.push_back(position.name);
    return names;
  }
  static std::vector<std::string> Files(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static void Save(Collector& collector, const std::string& name) {
    collector.AddSavedValue(collector.NameSavedValue(name).value, Typed("int", std::int64_t{1}));
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "dump";
  DumpSettings settings_;
};

TEST_F(SavedValuesTest, LevelDebugHasItsOwnFileAlone) {
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  Save(collector, "x");
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Files(Step(0)), std::vector<std::string>{"debug.json"});
  EXPECT_NE(Text(Step(0) / "debug.json").find("\"x.0.debug\": {\"type\": \"int\", \"value\": 1}"), std::string::npos);
}

TEST_F(SavedValuesTest, OtherLevelsHaveItFromTheFirstValueOn) {
  UseLevel(Level::kL1, "L1");
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  ASSERT_TRUE(collector.Flush().ok());
  EXPECT_FALSE(fs::exists(Step(0) / "debug.json"));
  Save(collector, "x");
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Names(Step(0) / "debug.json"), std::vector<std::string>{"x.0.debug"});
  EXPECT_TRUE(Names(Step(0) / "dump.json").empty());
}

TEST_F(SavedValuesTest, NamesCountFromZeroInEveryStepAndGradientsShareTheNumber) {
  Collector collector(settings_, Framework::kPyTorch);
  EXPECT_EQ(collector.NameSavedValue("x").value, "x.0.debug");
  const Collector::SavedNames second = collector.NameSavedValue("x");
  EXPECT_EQ(second.value, "x.1.debug");
  EXPECT_EQ(second.gradients, "x_grad.1.debug");
  EXPECT_EQ(collector.NameSavedValue("y").value, "y.0.debug");
  ASSERT_TRUE(collector.BeginStep(7).ok());
  EXPECT_EQ(collector.step(), 7);
  EXPECT_EQ(collector.NameSavedValue("x").value, "x.0.debug");
}

TEST_F(SavedValuesTest, TotalsOutliveTheStepUntilTheNextOne) {
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  Save(collector, "x");
  Save(collector, "x");
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(collector.totals().saved_values, 2U);
  EXPECT_EQ(collector.totals().records, 0U);
  EXPECT_GT(collector.totals().json_bytes, 0U);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  EXPECT_EQ(collector.totals().saved_values, 0U);
}

TEST_F(SavedValuesTest, PausedCollectionResumesOnlyInAStepWithFiles) {
  Collector collector(settings_, Framework::kPyTorch);
  collector.Resume();
  EXPECT_FALSE(collector.collecting());
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  collector.Pause();
  collector.Resume();
  EXPECT_TRUE(collector.collecting());
}

TEST_F(SavedValuesTest, ALateRankMovesFolderAndNameOfTheTensorFolder) {
  UseTask(Task::kTensor, "tensor");
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  Save(collector, "before");
  ASSERT_TRUE(collector.Flush().ok());
  const Result<std::string> warning = collector.AdoptRank(1234567);
  ASSERT_TRUE(warning.ok());
  EXPECT_EQ(*warning, "");
  Save(collector, "after");
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_FALSE(fs::exists(Step(0)));
  EXPECT_EQ(Names(Step(0, "rank1234567") / "debug.json"),
            (std::vector<std::string>{"before.0.debug", "after.0.debug"}));
  const auto index = IndexDump((Step(0, "rank1234567") / "debug.json").string());
  EXPECT_EQ(index->header.dump_data_dir, (Step(0, "rank1234567") / "dump_tensor_data").string());
}

TEST_F(SavedValuesTest, ALateRankSetsAsideAnEarlierRunAndGivesWayToALivingOne) {
  fs::create_directories(Step(0, "rank2"));
  std::ofstream(Step(0, "rank2") / "dump.json") << "{}";
  Collector first(settings_, Framework::kPyTorch);
  ASSERT_TRUE(first.Start(std::nullopt, {}).ok());
  const Result<std::string> aside = first.AdoptRank(2);
  ASSERT_TRUE(aside.ok());
  EXPECT_NE(aside->find("holds the data of an earlier run"), std::string::npos);
  EXPECT_TRUE(fs::exists(Step(0, "rank2") / "debug.json"));

  Collector second(settings_, Framework::kPyTorch);
  ASSERT_TRUE(second.Start(std::nullopt, {}).ok());
  const Result<std::string> living = second.AdoptRank(2);
  ASSERT_TRUE(living.ok());
  EXPECT_NE(living->find("another running process writes to"), std::string::npos);
  EXPECT_TRUE(fs::exists(Step(0, "rank2_p" + std::to_string(getpid())) / "debug.json"));
  EXPECT_TRUE(fs::exists(Step(0, "rank2") / "debug.json"));
}

TEST(DumpHeadTest, RoomIsLeftOnlyWhereTheFolderMayMove) {
  DumpSettings settings;
  DumpHead fixed = MakeDumpHead(settings, Framework::kPyTorch, "/d/rank0/t", {}, false);
  EXPECT_NE(fixed.text.find("\"/d/rank0/t\",\n"), std::string::npos);
  EXPECT_FALSE(fixed.ReplaceFolder("/d/rank1234/t"));
  DumpHead movable = MakeDumpHead(settings, Framework::kPyTorch, "/d/rank/t", {}, true);
  const std::size_t length = movable.text.size();
  ASSERT_TRUE(movable.ReplaceFolder("/d/rank12/t"));
  EXPECT_EQ(movable.text.size(), length);
  EXPECT_NE(movable.text.find("\"dump_data_dir\": \"/d/rank12/t\" "), std::string::npos);
  EXPECT_FALSE(movable.ReplaceFolder("/d/" + std::string(100, 'r') + "/t"));
  const DumpHead none = MakeDumpHead(settings, Framework::kPyTorch, "", {}, true);
  EXPECT_NE(none.text.find("\"dump_data_dir\": null,"), std::string::npos);
}

}  // namespace
}  // namespace msprobe
