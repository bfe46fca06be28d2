#include "kernel_dump/kernel_statistics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "base/folders.h"
#include "kernel_dump/kernel_samples.h"

namespace msprobe {
namespace {

using Names = std::set<std::string>;

/// The statistics columns of the only row, for a tensor of these values.
template <typename T>
std::string StatisticsOf(const std::vector<T>& values, DType dtype, const std::vector<std::int64_t>& shape) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  EXPECT_TRUE(WriteNpyFile(folder + "/A.b.0.0.7.output.0.ND.npy", TensorView{values.data(), dtype, shape, {}}).ok());
  EXPECT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  const std::string start = kHeader + "A,b,0,0,7,output,0,";
  const std::string text = KernelDump::Read(folder + "/statistic.csv");
  EXPECT_TRUE(text.starts_with(start)) << text;
  return text.substr(start.size());
}

TEST(KernelStatisticsTest, AFinishedIterationBecomesStatistics) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/" + kOutput0);
  WriteSample(folder + "/" + kInput0);
  WriteSample(dump.Iteration(1) + "/" + kInput0);
  std::vector<SummarisedFolder> visited;
  const auto visit = [&](const SummarisedFolder& summary) { visited.push_back(summary); };
  ASSERT_TRUE(SummariseKernelDump(dump.path(), false, visit).ok());
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), kHeader + kInput0Row + kOutput0Row);
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{kInput0}) << "the newest may still be written";
  ASSERT_EQ(visited.size(), 1U);
  EXPECT_EQ(visited[0].csv_path, folder + "/statistic.csv");
  EXPECT_EQ(visited[0].files, 2U);
  EXPECT_EQ(visited[0].unreadable, 0U);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true, visit).ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{"statistic.csv"});
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true, visit).ok());
  EXPECT_EQ(visited.size(), 2U) << "nothing is left to do";
}

TEST(KernelStatisticsTest, TheNewestIterationIsTheOneWithTheLargestNumber) {
  const KernelDump dump;
  for (const int iteration : {2, 9, 10}) WriteSample(dump.Iteration(iteration) + "/" + kInput0);
  KernelStatistics statistics(dump.path());
  ASSERT_TRUE(statistics.Summarise(false).ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(2)), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(9)), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(10)), Names{kInput0});
  WriteSample(dump.Iteration(11) + "/" + kInput0);
  ASSERT_TRUE(statistics.Summarise(false).ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(10)), Names{"statistic.csv"});
  WriteSample(dump.Iteration(2) + "/" + kInput1);  // late
  ASSERT_TRUE(statistics.Summarise(true).ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(2)), Names{"statistic.csv"});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(11)), Names{"statistic.csv"});
}

TEST(KernelStatisticsTest, ARankFolderAloneAndAPathThatIsNotThere) {
  const KernelDump dump;
  WriteSample(dump.Iteration(0, "rank_0") + "/" + kInput0);
  WriteSample(dump.Iteration(0, "rank_1") + "/" + kInput0);
  ASSERT_TRUE(SummariseKernelDump(dump / "rank_1", true).ok());
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0, "rank_0")), Names{kInput0});
  EXPECT_EQ(KernelDump::Names(dump.Iteration(0, "rank_1")), Names{"statistic.csv"});
  EXPECT_TRUE(SummariseKernelDump(dump / "none", true).ok());
  EXPECT_FALSE(SummariseKernelDump(dump.Write("file", ""), true).ok());
}

TEST(KernelStatisticsTest, RowsAreOrderedByTimeThenInputsThenSlot) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  const std::vector<std::string> ordered = {"99.output.0", "100.input.2", "100.input.10", "100.output.1"};
  for (const std::string& middle : ordered) WriteSample(folder + "/A.b.0.0." + middle + ".ND.Float32.npy");
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  std::string expected = kHeader;
  for (std::string middle : ordered) {
    std::replace(middle.begin(), middle.end(), '.', ',');
    expected += "A,b,0,0," + middle + ",16,float32,\"(2,2)\",4,-2,1.25,5\n";
  }
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), expected);
}

TEST(KernelStatisticsTest, ElementTypesAndShapes) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(StatisticsOf<double>({3, -4}, DType::kFloat64, {2}), "16,float64,(2),3,-4,-0.5,5\n");
  EXPECT_EQ(StatisticsOf<double>({-3}, DType::kFloat64, {}), "8,float64,(),-3,-3,-3,-3\n");
  EXPECT_EQ(StatisticsOf<double>({}, DType::kFloat64, {0, 3}), "0,float64,\"(0,3)\",,,,\n");
  EXPECT_EQ(StatisticsOf<double>({-std::nan(""), 1}, DType::kFloat64, {2}), "16,float64,(2),nan,nan,nan,nan\n");
  EXPECT_EQ(StatisticsOf<double>({-inf, 1}, DType::kFloat64, {2}), "16,float64,(2),1,-inf,-inf,inf\n");
  EXPECT_EQ(StatisticsOf<std::int64_t>({9007199254740993, 0}, DType::kInt64, {2}).substr(0, 36),
            "16,int64,(2),9007199254740993,0,4503");
  EXPECT_EQ(StatisticsOf<std::uint8_t>({1, 0}, DType::kBool, {2}), "2,bool,(2),1,0,,\n");
}

TEST(KernelStatisticsTest, AnInterruptedPassIsContinued) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  // Killed between the table and the removal, and one more file since.
  KernelDump::Read(dump.Write("rank_0/Net/0/0/statistic.csv", kHeader + kInput0Row));
  WriteSample(folder + "/" + kInput0);
  WriteSample(folder + "/" + kOutput0);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), kHeader + kInput0Row + kOutput0Row);
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
  WriteSample(folder + "/" + kInput0);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), kHeader + kInput0Row + kOutput0Row);
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
}

TEST(KernelStatisticsTest, AFileThatCannotBeReadGetsABlankRowAndStays) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/" + kInput0);
  const std::string whole = KernelDump::Read(folder + "/" + kInput0);
  const std::string blank = kRowStart + "1796007277999647,output,0,,float32,,,,,\n";
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    dump.Write("rank_0/Net/0/0/" + kOutput0, whole.substr(0, size));
    SummarisedFolder summary;
    const auto visit = [&](const SummarisedFolder& visited) { summary = visited; };
    ASSERT_TRUE(SummariseKernelDump(dump.path(), true, visit).ok());
    EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), kHeader + kInput0Row + blank) << size;
    EXPECT_EQ(KernelDump::Names(folder), (Names{"statistic.csv", kOutput0}));
    if (size == 0) {
      EXPECT_EQ(summary.files, 1U);
      EXPECT_EQ(summary.unreadable, 1U);
      EXPECT_NE(summary.problem.find(kOutput0), std::string::npos);
    } else {
      EXPECT_EQ(summary.csv_path, "") << "nothing new";
    }
  }
  dump.Write("rank_0/Net/0/0/" + kOutput0, whole);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), kHeader + kInput0Row + kOutput0Row);
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
}

TEST(KernelStatisticsTest, AHugeFileIsNotRead) {
  const KernelDump dump;
  const std::string path = dump.Iteration(0) + "/" + kInput0;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }";
  header.resize(117, ' ');
  dump.Write("rank_0/Net/0/0/" + kInput0, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n");
  if (::truncate(path.c_str(), 128 + (4LL << 40)) != 0) GTEST_SKIP() << "the file system has no such files";
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(dump.Iteration(0) + "/statistic.csv"),
            kHeader + kRowStart + "1796007277999374,input,0,,float32,,,,,\n");
}

TEST(KernelStatisticsTest, LinksAreNotFollowed) {
  const KernelDump outside;
  WriteSample(outside.Iteration(0) + "/" + kInput0);
  WriteSample(outside.Iteration(1) + "/" + kInput0);
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  std::filesystem::create_directory_symlink(outside / "rank_0", dump / "rank_1");
  std::filesystem::create_directory_symlink(outside / "rank_0/Net", dump / "rank_0/Linked");
  std::filesystem::create_directory_symlink(outside / "rank_0/Net/0", dump / "rank_0/Net/1");
  std::filesystem::create_directory_symlink(outside.Iteration(0), dump / "rank_0/Net/0/5");
  std::filesystem::create_symlink(outside.Iteration(0) + "/" + kInput0, folder + "/" + kInput1);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Names(folder), Names{kInput1});
  EXPECT_EQ(KernelDump::Names(outside.Iteration(0)), Names{kInput0});
  EXPECT_EQ(KernelDump::Names(outside.Iteration(1)), Names{kInput0});
  // A table that is a link is not read and not replaced.
  WriteSample(folder + "/" + kInput0);
  const std::string target = outside.Write("target.csv", kHeader);
  std::filesystem::create_symlink(target, folder + "/statistic.csv");
  EXPECT_FALSE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Names(folder), (Names{"statistic.csv", kInput0, kInput1}));
  EXPECT_EQ(KernelDump::Read(target), kHeader);
}

TEST(KernelStatisticsTest, ATableOfAnotherToolStaysAndSoDoItsTensors) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  for (const std::string& text : {std::string("Op Type,Op Name\nA,b\n"), kHeader + "A,b\n", kHeader + "\"open"}) {
    WriteSample(folder + "/" + kInput0);
    WriteSample(dump.Iteration(1) + "/" + kInput0);
    dump.Write("rank_0/Net/0/0/statistic.csv", text);
    const Status status = SummariseKernelDump(dump.path(), true);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("statistic.csv"), std::string::npos) << status.error().message;
    EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), text);
    EXPECT_EQ(KernelDump::Names(folder), (Names{"statistic.csv", kInput0}));
    EXPECT_EQ(KernelDump::Names(dump.Iteration(1)), Names{"statistic.csv"}) << "the others are summarised";
  }
}

TEST(KernelStatisticsTest, NamesThatCsvCannotHold) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/=SUM(\"a\",b).x\r\ny.0.0.1.input.0.ND.Float32.npy");
  WriteSample(folder + "/" + kInput0);
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  const std::string text = KernelDump::Read(folder + "/statistic.csv");
  EXPECT_EQ(text,
            kHeader + "\"'=SUM(\"\"a\"\",b)\",\"x\ny\",0,0,1,input,0,16,float32,\"(2,2)\",4,-2,1.25,5\n" + kInput0Row);
  WriteSample(folder + "/=SUM(\"a\",b).x\r\ny.0.0.1.input.0.ND.Float32.npy");
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"), text) << "the same file has the same row";
}

TEST(KernelStatisticsTest, TwoFilesWithOneRowNameKeepARowEach) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/A.b.0.0.1.input.0.ND.Float32.npy");
  const double value = 1;
  const std::int64_t shape[] = {1};
  ASSERT_TRUE(
      WriteNpyFile(folder + "/A.b.0.0.1.input.0.NCHW.Float64.npy", TensorView{&value, DType::kFloat64, shape, {}})
          .ok());
  ASSERT_TRUE(SummariseKernelDump(dump.path(), true).ok());
  EXPECT_EQ(KernelDump::Read(folder + "/statistic.csv"),
            kHeader + "A,b,0,0,1,input,0,16,float32,\"(2,2)\",4,-2,1.25,5\nA,b,0,0,1,input,0,8,float64,(1),1,1,1,1\n");
}

TEST(KernelStatisticsTest, AFolderThatAnotherProcessSummarisesIsLeftToIt) {
  const KernelDump dump;
  const std::string folder = dump.Iteration(0);
  WriteSample(folder + "/" + kInput0);
  KernelStatistics statistics(dump.path());
  {
    const FileHandle lock = OpenLockedFolder(folder);
    ASSERT_TRUE(lock.is_open());
    EXPECT_TRUE(statistics.Summarise(true).ok());
    EXPECT_EQ(KernelDump::Names(folder), Names{kInput0});
  }
  EXPECT_TRUE(statistics.Summarise(true).ok());
  EXPECT_EQ(KernelDump::Names(folder), Names{"statistic.csv"});
}

}  // namespace
}  // namespace msprobe
