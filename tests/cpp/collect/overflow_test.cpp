#include "collect/overflow.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <limits>

#include "base/temporary_folder.h"
#include "collect/collector.h"
#include "record/dump_reader.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Record WithTensor(StatisticValue maximum, StatisticValue minimum) {
  auto tensor = std::make_unique<TensorElement>();
  tensor->max = maximum;
  tensor->min = minimum;
  ElementList inner;
  inner.push_back(Element(std::move(tensor)));
  ElementObject object;
  object.push_back(Member{"key", Element(std::move(inner))});
  Record record{"Torch.add.0.forward", {}};
  record.sections.push_back(Member{"input_args", Element(ElementList{})});
  record.sections.push_back(Member{"output", Element(std::move(object))});
  return record;
}

TEST(OverflowCheckTest, NanAndInfinityAnywhereInTheRecord) {
  EXPECT_TRUE(OverflowCheck::HasNonFinite(WithTensor(kInfinity, 0.0)));
  EXPECT_TRUE(OverflowCheck::HasNonFinite(WithTensor(0.0, -kInfinity)));
  EXPECT_TRUE(OverflowCheck::HasNonFinite(WithTensor(kNan, kNan)));
  EXPECT_FALSE(OverflowCheck::HasNonFinite(WithTensor(1e300, -1e300)));
  EXPECT_FALSE(OverflowCheck::HasNonFinite(WithTensor(std::int64_t{3}, true)));
  EXPECT_FALSE(OverflowCheck::HasNonFinite(WithTensor(StatisticValue(), StatisticValue())));
  EXPECT_FALSE(OverflowCheck::HasNonFinite(Record{"Torch.add.0.forward", {}}));
}

class OverflowTaskTest : public ::testing::Test {
 protected:
  OverflowTaskTest() {
    settings_.task = Task::kOverflowCheck;
    settings_.task_name = "overflow_check";
    settings_.level_name = "L1";
    settings_.dump_path = folder_.path();
  }

  // A call with one input and one output.
  static void Call(Collector& collector, std::size_t api, float input, float output) {
    const msprobe::Call call = collector.BeginCall(api);
    Record record{call.forward_name, {}};
    record.sections.push_back(Member{"input_args", Tensor(collector, input, record.name + ".input.0")});
    record.sections.push_back(Member{"output", Tensor(collector, output, record.name + ".output.0")});
    collector.Add(std::move(record), {});
  }
  static Element Tensor(Collector& collector, float value, const std::string& file) {
    const std::array<float, 4> values{value, 1, 2, 3};
    const std::array<std::int64_t, 1> shape{4};
    auto tensor = std::make_unique<TensorElement>();
    collector.Describe(*tensor, TensorView{values.data(), DType::kFloat32, shape, {}},
                       collector.SavesTensors(file) ? file : std::string());
    ElementList list;
    list.push_back(Element(std::move(tensor)));
    return Element(std::move(list));
  }
  std::vector<std::string> Names(int step = 0) {
    std::vector<std::string> names;
    const auto index = IndexDump(folder_.path() + "/step" + std::to_string(step) + "/rank/dump.json");
    EXPECT_TRUE(index.ok());
    for (const RecordPosition& position : index->records) {
      names.push_back(position.name);
    }
    return names;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_ / "step0/rank/dump_tensor_data")) {
      files.push_back(entry.path().filename());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TemporaryFolder folder_;
  DumpSettings settings_;
};

TEST_F(OverflowTaskTest, OnlyOverflowingRecordsAndTheirTensorsAreWritten) {
  settings_.overflow_nums = -1;
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  Call(collector, add, 1, 1);
  Call(collector, add, 1, std::numeric_limits<float>::infinity());
  Call(collector, add, std::numeric_limits<float>::quiet_NaN(), 1);
  Call(collector, add, 1, 1);
  ASSERT_TRUE(collector.Flush().ok());
  EXPECT_EQ(Names(), (std::vector<std::string>{"Torch.add.1.forward", "Torch.add.2.forward"}));
  EXPECT_EQ(Files(), (std::vector<std::string>{"Torch.add.1.forward.input.0.pt", "Torch.add.1.forward.output.0.pt",
                                               "Torch.add.2.forward.input.0.pt", "Torch.add.2.forward.output.0.pt"}));
  EXPECT_EQ(collector.overflow_count(), 2);
  EXPECT_FALSE(collector.finished());
}

TEST_F(OverflowTaskTest, CollectionEndsForGoodAfterTheNumberAskedFor) {
  settings_.overflow_nums = 2;
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
    EXPECT_EQ(collector.finished(), i == 2);
    EXPECT_EQ(collector.collecting(), i != 2);
    Call(collector, add, static_cast<float>(kInfinity), 0);
    ASSERT_TRUE(collector.EndStep().ok());
  }
  EXPECT_EQ(Names(0).size(), 1U);
  EXPECT_EQ(Names(1).size(), 1U);
  EXPECT_FALSE(fs::exists(folder_ / "step2")) << "no folder for a step that is not collected";
}

TEST_F(OverflowTaskTest, RecordsBeyondTheNumberAreNotWritten) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  EXPECT_TRUE(collector.reads_values());
  Call(collector, add, static_cast<float>(kInfinity), 0);
  EXPECT_FALSE(collector.collecting());
  EXPECT_FALSE(collector.reads_values());
  Call(collector, add, static_cast<float>(kInfinity), 0);  // gradients of calls that were taken may still come in
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"Torch.add.0.forward"});
  EXPECT_EQ(Files().size(), 2U);
}

TEST_F(OverflowTaskTest, InputsAreWhatTheyWereBeforeTheCall) {
  Collector collector(settings_, Framework::kPyTorch);
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  std::array<float, 2> values{1, 2};
  const std::array<std::int64_t, 1> shape{2};
  const TensorView view{values.data(), DType::kFloat32, shape, {}};
  Record record{"Tensor.exp_.0.forward", {}};
  for (const char* part : {"input", "output"}) {
    auto tensor = std::make_unique<TensorElement>();
    collector.Describe(*tensor, view, record.name + "." + part + ".0");
    record.sections.push_back(Member{part, Element(std::move(tensor))});
    values = {static_cast<float>(kInfinity), 3};
  }
  collector.Add(std::move(record), {});
  ASSERT_TRUE(collector.EndStep().ok());
  const std::string file =
      TemporaryFolder::Read(folder_ / "step0/rank/dump_tensor_data/Tensor.exp_.0.forward.input.0.pt");
  const std::array<float, 2> before{1, 2};
  EXPECT_NE(file.find(std::string(reinterpret_cast<const char*>(before.data()), sizeof(before))), std::string::npos);
}

TEST_F(OverflowTaskTest, ACallThatRaisesLeavesNothing) {
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  const msprobe::Call call = collector.BeginCall(add);
  Record begun{call.forward_name, {}};
  begun.sections.push_back(
      Member{"input_args", Tensor(collector, static_cast<float>(kInfinity), begun.name + ".input.0")});
  collector.AbandonCall(call, begun);
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_TRUE(Names().empty());
  EXPECT_TRUE(Files().empty());
}

TEST_F(OverflowTaskTest, WhatDoesNotFitInMemoryIsWrittenAndRemoved) {
  auto writer = StepWriter::Create(settings_, Framework::kPyTorch, 0, std::nullopt, {});
  ASSERT_TRUE(writer.ok());
  OverflowCheck check(-1, 20);  // one tensor of 16 bytes
  const std::array<float, 4> values{1, 2, 3, 4};
  const std::array<std::int64_t, 1> shape{4};
  const TensorView view{values.data(), DType::kFloat32, shape, {}};
  const auto record = [&](const char* name, double maximum) {
    Record made{name, {}};
    for (int i = 0; i < 3; ++i) {
      auto tensor = std::make_unique<TensorElement>();
      tensor->max = maximum;
      tensor->data_name = std::string(name) + "." + std::to_string(i) + ".pt";
      EXPECT_TRUE(check.Hold(tensor->data_name, view, **writer));
      made.sections.push_back(Member{std::to_string(i), Element(std::move(tensor))});
    }
    return made;
  };
  Record finite = record("finite", 1.0);
  EXPECT_FALSE(check.Keep(finite, **writer));
  Record infinite = record("infinite", kInfinity);
  EXPECT_TRUE(check.Keep(infinite, **writer));
  ASSERT_TRUE((*writer)->Flush().ok());
  EXPECT_EQ(Files(), (std::vector<std::string>{"infinite.0.pt", "infinite.1.pt", "infinite.2.pt"}));
}

TEST_F(OverflowTaskTest, TheTreeHasWhatIsWrittenAndWhatStandsAboveIt) {
  settings_.level = Level::kMix;
  settings_.overflow_nums = -1;
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t module = collector.Register("Module.block.Net");
  const std::size_t add = collector.Register("Torch.add");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  const std::shared_ptr<ModuleCall> block = collector.BeginModule(module, nullptr);
  for (const float value : {0.0F, static_cast<float>(kInfinity)}) {
    const msprobe::Call call = collector.BeginCall(add);
    Record record{call.forward_name, {}};
    record.sections.push_back(Member{"output", Tensor(collector, value, record.name + ".output.0")});
    collector.Add(std::move(record), {}, TreePlace{block, {}}, Direction::kForward);
  }
  collector.EndModule(*block);
  collector.AddModule(Record{block->call.forward_name, {}}, {}, block, Direction::kForward);
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"Torch.add.1.forward"});
  const std::string tree = TemporaryFolder::Read(folder_ / "step0/rank/construct.json");
  EXPECT_NE(tree.find("\"Module.block.Net.forward.0\": null"), std::string::npos) << tree;
  EXPECT_NE(tree.find("\"Torch.add.1.forward\": \"Module.block.Net.forward.0\""), std::string::npos) << tree;
  EXPECT_EQ(tree.find("Torch.add.0.forward"), std::string::npos) << tree;
}

TEST_F(OverflowTaskTest, TensorListSavesTensorsOfTaskStatistics) {
  settings_.task = Task::kStatistics;
  settings_.tensor_list = {"=add"};
  Collector collector(settings_, Framework::kPyTorch);
  const std::size_t add = collector.Register("Torch.add");
  const std::size_t multiply = collector.Register("Torch.mul");
  ASSERT_TRUE(collector.Start(std::nullopt, {}).ok());
  for (const std::size_t api : {add, multiply}) {
    const msprobe::Call call = collector.BeginCall(api);
    Record record{call.forward_name, {}};
    auto tensor = std::make_unique<TensorElement>();
    const float value = 1;
    collector.Describe(*tensor, TensorView{&value, DType::kFloat32, {}, {}},
                       collector.SavesTensors(record.name) ? record.name + ".output.0" : std::string());
    record.sections.push_back(Member{"output", Element(std::move(tensor))});
    collector.Add(std::move(record), {});
  }
  ASSERT_TRUE(collector.EndStep().ok());
  EXPECT_EQ(Names().size(), 2U);
  EXPECT_EQ(Files(), std::vector<std::string>{"Torch.add.0.forward.output.0.pt"});
}

}  // namespace
}  // namespace msprobe
