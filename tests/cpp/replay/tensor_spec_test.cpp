#include "replay/tensor_spec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "replay_fixture.h"

namespace msprobe {
namespace {

std::uint32_t Hf32(std::uint32_t bits) { return std::bit_cast<std::uint32_t>(RoundToHf32(std::bit_cast<float>(bits))); }

TEST(Hf32, KeepsElevenBitsAndRoundsHalfAwayFromZero) {
  EXPECT_EQ(Hf32(0x3F800347), 0x3F800000U);
  EXPECT_EQ(Hf32(0x3F800800), 0x3F801000U);
  EXPECT_EQ(Hf32(0xBF800800), 0xBF801000U);
  EXPECT_EQ(Hf32(0x40490FDB), 0x40491000U);
  EXPECT_EQ(Hf32(0x00000000), 0x00000000U);
  EXPECT_EQ(Hf32(0x80000000), 0x80000000U);
}

TEST(Hf32, SpecialValuesStay) {
  EXPECT_EQ(Hf32(0x7F800000), 0x7F800000U);
  EXPECT_EQ(Hf32(0xFF800000), 0xFF800000U);
  EXPECT_EQ(Hf32(0x7FFFFFFF), 0x7FFFFFFFU);  // a NaN with a full mantissa must not become minus zero
  EXPECT_EQ(Hf32(0x7F7FFFFF), 0x7F7FF000U);  // the largest float must not become infinity
}

TensorSpec Spec(DType dtype, std::int64_t count) {
  TensorSpec spec;
  spec.position = "input.0";
  spec.dtype = spec.bench_dtype = dtype;
  spec.storage_count = count;
  spec.range.low = -1;
  spec.range.high = 2;
  spec.key = 42;
  return spec;
}

TEST(FillStorage, RefusesAnotherSize) {
  TensorSpec spec = Spec(DType::kFloat32, 4);
  std::vector<float> out(4);
  EXPECT_FALSE(FillStorage(spec, out.data(), 12).ok());
  EXPECT_TRUE(FillStorage(spec, out.data(), 16).ok());
  EXPECT_EQ(out.front(), -1);
  EXPECT_EQ(out.back(), 2);
}

TEST(FillStorage, ZeroBeforeTheOffset) {
  TensorSpec spec = Spec(DType::kFloat32, 5);
  spec.storage_offset = 2;
  std::vector<float> out(5, 9.0F);
  ASSERT_TRUE(FillStorage(spec, out.data(), 20).ok());
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], -1);
}

TEST(FillStorage, RoundsWhatAutocastRounds) {
  TensorSpec spec = Spec(DType::kFloat32, 5000);
  spec.rounding = InputRounding::kBFloat16;
  std::vector<float> out(5000);
  ASSERT_TRUE(FillStorage(spec, out.data(), 20000).ok());
  for (const float value : out) EXPECT_EQ(std::bit_cast<std::uint32_t>(value) & 0xFFFFU, 0U);
}

TEST(FillStorage, TakesTheDataOfAFile) {
  TensorSpec spec = Spec(DType::kInt64, 3);
  spec.loaded = std::make_shared<LoadedTensor>();
  spec.loaded->dtype = DType::kInt32;
  spec.loaded->storage_offset = 1;
  const std::int32_t stored[4] = {9, -2147483647, 0, 7};
  spec.loaded->bytes.resize(16);
  std::memcpy(spec.loaded->bytes.data(), stored, 16);
  std::vector<std::int64_t> out(3);
  ASSERT_TRUE(FillStorage(spec, out.data(), 24).ok());
  EXPECT_EQ(out, (std::vector<std::int64_t>{-2147483647, 0, 7}));
  EXPECT_EQ(spec.loaded, nullptr);
}

TEST(FillStorage, AFileMayNotBeTooShort) {
  TensorSpec spec = Spec(DType::kFloat32, 3);
  spec.loaded = std::make_shared<LoadedTensor>();
  spec.loaded->bytes.resize(8);
  std::vector<float> out(3);
  EXPECT_FALSE(FillStorage(spec, out.data(), 12).ok());
}

TEST(PlanTensorFiles, BesideTheDumpFirstThenTheRecordedFolder) {
  TemporaryFolder beside;
  TemporaryFolder recorded;
  std::filesystem::create_directory(beside.path() + "/dump_tensor_data");
  const auto write = [](const std::string& path, float value) {
    const std::vector<std::int64_t> shape = {2};
    const float data[2] = {value, value};
    ASSERT_TRUE(WritePtFile(path, TensorView{data, DType::kFloat32, shape, {}}).ok());
  };
  write(recorded.path() + "/a.pt", 1);
  ReplaySettings settings = TestSettings();
  settings.dump_directory = beside.path();
  settings.recorded_data = recorded.path();
  const std::string message = CaseMessage(
      "Torch.add.0", "[" + TensorJson("float32", "[5]", "null", "null", true, R"(, "data_name": "a.pt")") + "]");
  const auto value = [&] {
    auto plan = Plan(message, settings);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan.value().tensors[0].shape, std::vector<std::int64_t>{2});
    float out[2];
    EXPECT_TRUE(FillStorage(plan.value().tensors[0], out, 8).ok());
    return out[0];
  };
  EXPECT_EQ(value(), 1);
  write(beside.path() + "/dump_tensor_data/a.pt", 2);
  EXPECT_EQ(value(), 2);
}

TEST(PlanTensorFiles, NamesMayNotLeaveTheFolder) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/dump_tensor_data");
  ReplaySettings settings = TestSettings();
  settings.dump_directory = folder.path();
  for (const char* name : {"../a.pt", "/etc/passwd", "a/b.pt", "missing.pt", "x.bin"}) {
    const auto plan = Plan(CaseMessage("Torch.add.0", "[" +
                                                          TensorJson("float32", "[2]", "0", "1", false,
                                                                     ", \"data_name\": \"" + std::string(name) + "\"") +
                                                          "]"),
                           settings);
    EXPECT_FALSE(plan.ok()) << name;
  }
}

}  // namespace
}  // namespace msprobe
