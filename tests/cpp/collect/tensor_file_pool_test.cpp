#include "collect/tensor_file_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/temporary_folder.h"
#include "record/tensor_file.h"

namespace msprobe {
namespace {

namespace fs = std::filesystem;

class TensorFilePoolTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(TensorFilePoolTest, WritesWhatTheTensorHeldWhenItWasHandedOver) {
  TensorFilePool pool(Framework::kPyTorch, false);
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  const std::int64_t shape[] = {1000};
  for (int i = 0; i < 50; ++i) {
    pool.Save(Path(std::to_string(i) + ".pt"), TensorView{values.data(), DType::kFloat32, shape, {}});
    values[0] += 1.0F;
  }
  EXPECT_TRUE(pool.WaitAll().empty());
  for (int i = 0; i < 50; ++i) {
    const auto loaded = ReadPtFile(Path(std::to_string(i) + ".pt"));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    float first = -1;
    std::memcpy(&first, loaded->bytes.data(), sizeof(first));
    EXPECT_EQ(first, static_cast<float>(i));
  }
}

TEST_F(TensorFilePoolTest, AnExpandedTensorStaysSmall) {
  TensorFilePool pool(Framework::kPyTorch, false);
  const float value = 3.0F;
  const std::int64_t shape[] = {1000, 1000};
  const std::int64_t strides[] = {0, 0};
  pool.Save(Path("expanded.pt"), TensorView{&value, DType::kFloat32, shape, strides});
  EXPECT_TRUE(pool.WaitAll().empty());
  EXPECT_LT(fs::file_size(Path("expanded.pt")), 4096U);
  const auto loaded = ReadPtFile(Path("expanded.pt"));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->shape, (std::vector<std::int64_t>{1000, 1000}));
  EXPECT_EQ(loaded->strides, (std::vector<std::int64_t>{0, 0}));
}

TEST_F(TensorFilePoolTest, ASparseSliceIsWrittenWithoutItsGaps) {
  TensorFilePool pool(Framework::kPyTorch, false);
  std::vector<float> values(1000000, 1.0F);
  const std::int64_t shape[] = {10};
  const std::int64_t strides[] = {100000};
  pool.Save(Path("slice.pt"), TensorView{values.data(), DType::kFloat32, shape, strides});
  EXPECT_TRUE(pool.WaitAll().empty());
  EXPECT_LT(fs::file_size(Path("slice.pt")), 4096U);
}

TEST_F(TensorFilePoolTest, MoreThanTheBudgetPassesThrough) {
  TensorFilePool pool(Framework::kPyTorch, false, 4096);
  const std::vector<float> values(512, 1.0F);
  const std::int64_t shape[] = {512};
  for (int i = 0; i < 100; ++i) {
    pool.Save(Path(std::to_string(i) + ".pt"), TensorView{values.data(), DType::kFloat32, shape, {}});
  }
  const std::vector<float> large(5000, 1.0F);
  const std::int64_t large_shape[] = {5000};
  pool.Save(Path("large.pt"), TensorView{large.data(), DType::kFloat32, large_shape, {}});
  EXPECT_TRUE(fs::exists(Path("large.pt"))) << "larger than the budget: written at once";
  EXPECT_TRUE(pool.WaitAll().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 101);
}

TEST_F(TensorFilePoolTest, SynchronousFilesAreThereAtOnce) {
  TensorFilePool pool(Framework::kPyTorch, true);
  const float value = 1.0F;
  pool.Save(Path("now.pt"), TensorView{&value, DType::kFloat32, {}, {}});
  EXPECT_TRUE(fs::exists(Path("now.pt")));
}

TEST_F(TensorFilePoolTest, AFailureIsReportedOnceAndStopsSaving) {
  TensorFilePool pool(Framework::kPyTorch, false);
  const float value = 1.0F;
  pool.Save(Path("missing/x.pt"), TensorView{&value, DType::kFloat32, {}, {}});
  EXPECT_EQ(pool.WaitAll().size(), 1U);
  EXPECT_FALSE(pool.healthy());
  EXPECT_TRUE(pool.WaitAll().empty());
}

}  // namespace
}  // namespace msprobe
