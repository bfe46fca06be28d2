#include "collect/step_writer.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/temporary_folder.h"
#include "record/dump_reader.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

class StepWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    settings_.task_name = "statistics";
    settings_.level_name = "L1";
    settings_.dump_path = folder_.string();
    auto writer = StepWriter::Create(settings_, Framework::kPyTorch, 0, std::nullopt, {});
    ASSERT_TRUE(writer.ok());
    writer_ = std::move(*writer);
  }

  void Add(const std::string& name, const std::string& stack = "[]") {
    FinishedRecord finished{{name, {}}, stack, {}};
    finished.record.sections.push_back(Member{"input_args", Element(ElementList{})});
    writer_->Add(std::move(finished));
  }
  std::vector<std::string> Written() const {
    std::vector<std::string> names;
    const auto index = IndexDump((folder_ / "step0" / "rank" / "dump.json").string());
    EXPECT_TRUE(index.ok());
    for (const RecordPosition& position : index->records) {
      names.push_back(position.name);
    }
    return names;
  }
  /// Waits up to 20 s.
  bool SoonWritten(std::size_t count) const {
    for (int i = 0; i < 400; ++i) {
      if (Written().size() >= count) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "dump";
  DumpSettings settings_;
  std::unique_ptr<StepWriter> writer_;
};

TEST_F(StepWriterTest, ARecordThatNoneFollowsIsWrittenSoon) {
  Add("Torch.add.0.forward");
  EXPECT_TRUE(Written().empty()) << "not before the training goes on";
  EXPECT_TRUE(SoonWritten(1));
  Add("Torch.add.1.forward");
  EXPECT_TRUE(SoonWritten(2));
}

TEST_F(StepWriterTest, MuchTextIsWrittenInTheBackground) {
  const std::string stack = '"' + std::string(100000, 'x') + '"';
  for (int i = 0; i < 100; ++i) {  // 10 MB: the background, or Add where it is behind
    Add("Torch.add." + std::to_string(i) + ".forward", stack);
  }
  EXPECT_GE(Written().size(), 10U);
  EXPECT_TRUE(SoonWritten(100));
  EXPECT_EQ(writer_->totals().records, 100U);
}

TEST_F(StepWriterTest, EachThreadsRecordsStayInOrder) {
  constexpr int kRecords = 3000;
  std::vector<std::thread> threads;
  for (const char* api : {"Torch.add.", "Torch.mul."}) {
    threads.emplace_back([this, api] {
      for (int i = 0; i < kRecords; ++i) {
        Add(api + std::to_string(i), "[\"a frame of some length, so that there is text to write\"]");
        if (i % 500 == 0) {
          EXPECT_TRUE(writer_->Flush().ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ASSERT_TRUE(writer_->Flush().ok());
  std::vector<int> next(2, 0);
  for (const std::string& name : Written()) {
    int& expected = next[name.find("mul") == std::string::npos ? 0 : 1];
    EXPECT_EQ(name.substr(10), std::to_string(expected));
    ++expected;
  }
  EXPECT_EQ(next, (std::vector<int>{kRecords, kRecords}));
}

TEST_F(StepWriterTest, AForkedChildLeavesFilesAndLocksToTheParent) {
  for (int i = 0; i < 200; ++i) {  // forks at many moments of the background's work
    Add("Torch.add." + std::to_string(i), std::string(20000, ' '));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      StepWriter::LeaveToParent(std::move(writer_));
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(Written().size(), 200U);
}

}  // namespace
}  // namespace msprobe
