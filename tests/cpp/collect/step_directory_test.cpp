#include "collect/step_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/temporary_folder.h"
#include "collect/collector.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

class StepDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    settings_.task_name = "tensor";
    settings_.task = Task::kTensor;
    settings_.level_name = "L1";
    settings_.dump_path = folder_.string();
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "dump";
  DumpSettings settings_;
};

TEST_F(StepDirectoryTest, AStepWithoutACallLeavesNoFolder) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  EXPECT_TRUE(fs::exists(folder_ / "step0" / "rank" / "dump.json"));
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_FALSE(fs::exists(folder_ / "step0"));
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  collector.BeginCall(add);  // a call that no filter lets pass is still one: the empty file says so
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_TRUE(fs::exists(folder_ / "step1" / "rank" / "dump.json"));
}

TEST_F(StepDirectoryTest, WhatOthersPutIntoTheFolderStays) {
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(0, {}).ok());
  std::ofstream(folder_ / "step0" / "rank0" / "dump_error_info.log") << "a failure\n";
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_TRUE(fs::exists(folder_ / "step0" / "rank0" / "dump.json"));
  EXPECT_TRUE(fs::exists(folder_ / "step0" / "rank0" / "dump_error_info.log"));
}

/// Processes that make and remove folders of the same step at the same moment.
TEST_F(StepDirectoryTest, ProcessesDoNotDisturbOneAnother) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      bool fine = true;
      for (int turn = 0; turn < 50; ++turn) {
        Result<StepDirectory> directory = StepDirectory::Create(folder_.string(), 0, process);
        fine = fine && directory.ok() && fs::is_directory(directory->path());
        if (directory.ok() && (process != 0 || turn != 49)) {
          directory->RemoveIfUnused({});
        }
      }
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_ / "step0")) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_EQ(left, std::vector<std::string>{"rank0"});
}

}  // namespace
}  // namespace msprobe
