#include "kernel_dump/kernel_watcher.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_dump/kernel_samples.h"

namespace msprobe {
namespace {

using Names = std::set<std::string>;
constexpr std::chrono::milliseconds kOften(5);
constexpr std::chrono::hours kNever(1);
const char* const kMark = ".kernel_statistics";

void WaitForTable(const std::string& folder) {
  for (int i = 0; i < 4000 && KernelDump::Names(folder) != Names{"statistic.csv"}; ++i) {
    std::this_thread::sleep_for(kOften);
  }
}

TEST(KernelWatcherTest, SummarisesWhileTheTrainingRunsAndTheRestAtItsEnd) {
  const KernelDump dump;
  auto watcher = KernelWatcher::Start(dump / "new/path", kOften);
  ASSERT_TRUE(watcher.ok());
  EXPECT_EQ(KernelDump::Names(dump / "new/path"), Names{kMark});
  WriteSample(dump.Iteration(0, "new/path/rank_0") + "/" + kInput0);
  WriteSample(dump.Iteration(1, "new/path/rank_0") + "/" + kInput0);
  WaitForTable(dump.Iteration(0, "new/path/rank_0"));
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0, "new/path/rank_0")), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1, "new/path/rank_0")), Names{kInput0});
  dump.Write("new/path/rank_0/Net/0/1/" + kOutput0, "torn");
  ASSERT_TRUE((*watcher)->Stop().ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1, "new/path/rank_0")), (Names{"statistic.csv", kOutput0}));
  EXPECT_EQ(KernelDump::Names(dump / "new/path"), Names{"rank_0"}) << "the mark is gone";
  EXPECT_EQ((*watcher)->totals().files, 2U);
  EXPECT_EQ((*watcher)->totals().unreadable, 1U);
  EXPECT_NE((*watcher)->totals().problem, "");
  EXPECT_TRUE((*watcher)->Stop().ok());
}

TEST(KernelWatcherTest, TheLastOfTheProcessesOfAJobSummarisesTheNewestIterations) {
  const KernelDump dump;
  auto first = KernelWatcher::Start(dump.path(), kNever);
  auto second = KernelWatcher::Start(dump.path(), kNever);
  ASSERT_TRUE(first.ok() && second.ok());
  for (const int iteration : {0, 1}) WriteSample(dump.Iteration(iteration) + "/" + kInput0);
  ASSERT_TRUE((*first)->Stop().ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0)), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{kInput0});
  EXPECT_EQ(KernelDump::Names(dump.path()), (Names{kMark, "rank_0"}));
  ASSERT_TRUE((*second)->Stop().ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.path()), Names{"rank_0"});
}

TEST(KernelWatcherTest, AFailureIsToldAndTheMarkStays) {
  const KernelDump dump;
  WriteSample(dump.Iteration(0) + "/" + kInput0);
  dump.Write("rank_0/Net/0/0/statistic.csv", "foreign");
  auto watcher = KernelWatcher::Start(dump.path(), kOften);
  ASSERT_TRUE(watcher.ok());
  EXPECT_FALSE((*watcher)->Stop().ok());
  EXPECT_EQ(KernelDump::Names(dump.path()), (Names{kMark, "rank_0"}));
  EXPECT_FALSE(KernelWatcher::Start(dump / "rank_0/Net/0/0/statistic.csv").ok());
}

TEST(KernelWatcherTest, AForkedChildEndsWithoutTouchingAnything) {
  const KernelDump dump;
  auto watcher = KernelWatcher::Start(dump.path(), std::chrono::seconds(5));
  ASSERT_TRUE(watcher.ok());
  WriteSample(dump.Iteration(0) + "/" + kInput0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the thread waits
  const pid_t child = ::fork();
  if (child == 0) {
    const bool fine = (*watcher)->Stop().ok();
    watcher->reset();
    ::_exit(fine ? 0 : 1);
  }
  int code = -1;
  ASSERT_EQ(::waitpid(child, &code, 0), child);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0)), Names{kInput0});
  EXPECT_TRUE((*watcher)->Stop().ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0)), Names{"statistic.csv"});
}

TEST(LeftOverTest, OnlyAMarkedDumpThatNobodyWatchesIsSummarised) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/" + kInput0);
  auto left_over = SummariseLeftOver(dump.path());
  ASSERT_TRUE(left_over.ok());
  EXPECT_FALSE(left_over->found) << "tensors that were asked for stay";
  EXPECT_EQ(KernelDump::Names(folder), Names{kInput0});
  {
    auto watcher = KernelWatcher::Start(dump.path(), kNever);
    ASSERT_TRUE(watcher.ok());
    left_over = SummariseLeftOver(dump.path());
    ASSERT_TRUE(left_over.ok());
    EXPECT_TRUE(left_over->found && left_over->is_live);
    EXPECT_EQ(KernelDump::Names(folder), Names{kInput0});
  }
  WriteSample(folder + "/" + kInput1);
  dump.Write(kMark, "");
  left_over = SummariseLeftOver(dump.path());
  ASSERT_TRUE(left_over.ok());
  EXPECT_TRUE(left_over->found && !left_over->is_live && left_over->status.ok());
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.path()), Names{"rank_0"});
}

TEST(LeftOverTest, AKilledTrainingIsFinished) {
  const KernelDump dump;
  const pid_t child = ::fork();
  if (child == 0) {
    auto watcher = KernelWatcher::Start(dump.path(), kOften);
    WriteSample(dump.Iteration(0) + "/" + kInput0);
    WriteSample(dump.Iteration(1) + "/" + kInput0);
    WaitForTable(dump.Iteration(0));
    ::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{kInput0});
  const auto left_over = SummariseLeftOver(dump.path());
  ASSERT_TRUE(left_over.ok());
  EXPECT_TRUE(left_over->found && left_over->status.ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{"statistic.csv"});
}

}  // namespace
}  // namespace msprobe
