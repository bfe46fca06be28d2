#include "collect/collector.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/temporary_folder.h"
#include "record/dump_reader.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

class CollectorTest : public testing::Test {
 protected:
  void SetUp() override {
    settings_.task_name = "statistics";
    settings_.level_name = "L1";
    settings_.dump_path = folder_.string();
  }

  static Record ForwardOf(const Call& call) {
    Record record;
    record.name = call.forward_name;
    record.sections.push_back(Member{"input_args", Element(ElementList{})});
    return record;
  }
  std::vector<std::string> Names(const fs::path& file) {
    std::vector<std::string> names;
    const auto index = IndexDump(file.string());
    EXPECT_TRUE(index.ok());
    for (const RecordPosition& position : index->records) {
      names.push_back(position.name);
    }
    return names;
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_ / "dump";
  DumpSettings settings_;
};

TEST_F(CollectorTest, NumbersRestartWithEveryStep) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
    EXPECT_EQ(collector.BeginCall(add).forward_name, "Torch.add.0.forward");
    EXPECT_EQ(collector.BeginCall(add).forward_name, "Torch.add.1.forward");
    ASSERT_TRUE(collector.EndStep().ok());
  }
  EXPECT_EQ(collector.step(), 2);
}

TEST_F(CollectorTest, ACallThatRaisesGivesItsNumberBack) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  const Call failed = collector.BeginCall(add);
  collector.AbandonCall(failed, {});
  const Call next = collector.BeginCall(add);
  EXPECT_EQ(next.forward_name, "Torch.add.0.forward");
  // A number that a later call has taken meanwhile stays taken.
  EXPECT_EQ(collector.BeginCall(add).forward_name, "Torch.add.1.forward");
  collector.AbandonCall(next, {});
  EXPECT_EQ(collector.BeginCall(add).forward_name, "Torch.add.2.forward");
}

TEST_F(CollectorTest, ACallThatRaisesLeavesNoTensorFile) {
  settings_.task = Task::kTensor;
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  const Call failed = collector.BeginCall(add);
  const std::array<float, 2> values{1, 2};
  const std::array<std::int64_t, 1> shape{2};
  auto tensor = std::make_unique<TensorElement>();
  collector.Describe(*tensor, TensorView{values.data(), DType::kFloat32, shape, {}}, failed.forward_name + ".input.0");
  ASSERT_EQ(tensor->data_name, "Torch.add.0.forward.input.0.pt");
  ElementList arguments;
  arguments.push_back(Element(std::move(tensor)));
  Record begun{failed.forward_name, {}};
  begun.sections.push_back(Member{"input_args", Element(std::move(arguments))});
  collector.AbandonCall(failed, begun);
  ASSERT_TRUE(collector.Flush().ok());
  EXPECT_TRUE(fs::is_empty(folder_ / "step0" / "rank" / "dump_tensor_data"));
}

TEST_F(CollectorTest, AForkedChildWritesNothing) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  collector.Add(ForwardOf(collector.BeginCall(add)), "[]");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    collector.LeaveToParent();
    const bool collecting = collector.collecting();
    collector.Add(ForwardOf(collector.BeginCall(add)), "[]");
    _exit(collector.EndStep().ok() && !collecting ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Names(folder_ / "step0" / "rank" / "dump.json"), (std::vector<std::string>{"Torch.add.0.forward"}));
}

TEST_F(CollectorTest, ADeletedFolderIsToldOnce) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  fs::remove_all(folder_ / "step0");
  ASSERT_TRUE(collector.Flush().ok()) << "nothing is lost yet";
  collector.Add(ForwardOf(collector.BeginCall(add)), "[]");
  const Status flushed = collector.Flush();
  ASSERT_FALSE(flushed.ok());
  EXPECT_NE(flushed.error().message.find("was deleted"), std::string::npos);
  collector.Add(ForwardOf(collector.BeginCall(add)), "[]");
  EXPECT_TRUE(collector.Flush().ok());
}

TEST_F(CollectorTest, SegmentsOfOneStepAccumulate) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  for (int segment = 0; segment < 2; ++segment) {
    ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
    collector.Add(ForwardOf(collector.BeginCall(add)), "[\"frame\"]");
    collector.Pause();
    ASSERT_TRUE(collector.Flush().ok());
  }
  EXPECT_EQ(Names(folder_ / "step0" / "rank" / "dump.json"),
            (std::vector<std::string>{"Torch.add.0.forward", "Torch.add.1.forward"}));
}

TEST_F(CollectorTest, RankAndStepFilters) {
  settings_.steps = {1, 3};
  settings_.ranks = {1};
  Collector collector(settings_, Framework::kPyTorch);
  EXPECT_FALSE(collector.StepSelected());
  EXPECT_FALSE(collector.RankSelected(0));
  EXPECT_TRUE(collector.RankSelected(1));
  EXPECT_FALSE(collector.RankSelected(std::nullopt)) << "a process without a rank counts as rank 0";
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_TRUE(collector.StepSelected());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(collector.StepsExhausted());
    ASSERT_TRUE(collector.EndStep().ok());
  }
  EXPECT_TRUE(collector.StepsExhausted());
}

TEST_F(CollectorTest, FolderOfAnEarlierRunIsSetAside) {
  for (int run = 0; run < 3; ++run) {
    Collector collector(settings_, Framework::kPyTorch);
    const std::size_t add = collector.Register("Torch.add");
    ASSERT_TRUE(collector.Start(2, {}).ok());
    EXPECT_EQ(collector.writer()->directory().path(), (folder_ / "step0" / "rank2").string());
    EXPECT_EQ(collector.writer()->directory().warning().empty(), run == 0);
    for (int i = 0; i <= run; ++i) {
      collector.Add(ForwardOf(collector.BeginCall(add)), {});
    }
    ASSERT_TRUE(collector.EndStep().ok());
  }
  std::vector<std::size_t> record_counts;
  for (const auto& entry : fs::directory_iterator(folder_ / "step0")) {
    record_counts.push_back(Names(entry.path() / "dump.json").size());
  }
  std::sort(record_counts.begin(), record_counts.end());
  EXPECT_EQ(record_counts, (std::vector<std::size_t>{1, 2, 3})) << "nothing may be overwritten";
}

TEST_F(CollectorTest, FolderOfALivingProcessIsLeftAlone) {
  Collector first(settings_, Framework::kPyTorch);
  Collector second(settings_, Framework::kPyTorch);
  ASSERT_TRUE(first.Start(0, {}).ok());
  ASSERT_TRUE(second.Start(0, {}).ok());
  EXPECT_EQ(second.writer()->directory().path(), (folder_ / "step0" / ("rank0_p" + std::to_string(getpid()))).string());
  EXPECT_FALSE(second.writer()->directory().warning().empty());
}

TEST_F(CollectorTest, ALinkInPlaceOfTheFolderIsNotFollowed) {
  const fs::path elsewhere = folder_ / "elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directories(folder_ / "step0");
  fs::create_directory_symlink(elsewhere, folder_ / "step0" / "rank");
  Collector collector(settings_, Framework::kPyTorch);
  EXPECT_FALSE(collector.Start(std::nullopt, {}).ok());
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(CollectorTest, NonFiniteExtremesGetTheFiniteOnesBeside) {
  Collector collector(settings_, Framework::kPyTorch);
  const float values[] = {1.0F, std::numeric_limits<float>::infinity(), -2.0F};
  const std::int64_t shape[] = {3};
  TensorElement tensor;
  collector.Describe(tensor, TensorView{values, DType::kFloat32, shape, {}}, {});
  EXPECT_EQ(*tensor.max, StatisticValue(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(*tensor.finite_max, StatisticValue(1.0));
  EXPECT_FALSE(tensor.finite_min.has_value());
  EXPECT_TRUE(tensor.md5.empty());
}

TEST_F(CollectorTest, ChecksumOnlyInModeMd5) {
  settings_.summary_mode = SummaryMode::kMd5;
  Collector collector(settings_, Framework::kPyTorch);
  const float values[] = {1.0F, 2.0F, 3.0F, 4.0F};
  const std::int64_t shape[] = {4};
  TensorElement tensor;
  collector.Describe(tensor, TensorView{values, DType::kFloat32, shape, {}}, {});
  EXPECT_EQ(tensor.md5, "8ba71454");  // dump_format.md section 7
}

TEST(TensorFileNameTest, StaysAFileName) {
  EXPECT_EQ(TensorFileName("Torch.add.0.forward.input.0", ".pt"), "Torch.add.0.forward.input.0.pt");
  const std::string escaped = TensorFileName("Torch.add.0.forward.kwargs.../../x", ".pt");
  EXPECT_EQ(escaped.find('/'), std::string::npos);
  EXPECT_NE(escaped, TensorFileName("Torch.add.0.forward.kwargs...._.._x", ".pt")) << "names stay distinct";
  const std::string long_a = TensorFileName(std::string(400, 'a') + "1", ".pt");
  const std::string long_b = TensorFileName(std::string(400, 'a') + "2", ".pt");
  EXPECT_LE(long_a.size(), 255U);
  EXPECT_NE(long_a, long_b);
  EXPECT_TRUE(long_a.ends_with(".pt"));
}

}  // namespace
}  // namespace msprobe
