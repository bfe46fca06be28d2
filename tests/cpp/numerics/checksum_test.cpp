#include "numerics/checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensor/float_formats.h"

namespace msprobe {
namespace {

template <typename T>
std::string Text(DType dtype, const std::vector<T>& data, const std::vector<std::int64_t>& shape = {},
                 const std::vector<std::int64_t>& strides = {}) {
  const std::vector<std::int64_t> flat = {static_cast<std::int64_t>(data.size())};
  const TensorView view{data.data(), dtype, shape.empty() ? flat : shape, strides};
  const auto text = ChecksumText(TensorChecksum(view));
  return {text.begin(), text.end()};
}

TEST(Checksum, VectorsOfTheDumpFormat) {  // dump_format.md 7
  EXPECT_EQ(Text<float>(DType::kFloat32, {1, 2, 3, 4}), "8ba71454");
  EXPECT_EQ(Text<float>(DType::kFloat32, {1}), "aca16a6a");
  EXPECT_EQ(Text<std::int64_t>(DType::kInt64, {7}), "6fe7d670");
  EXPECT_EQ(Text<std::uint8_t>(DType::kBool, {1, 0}), "58c223be");
  EXPECT_EQ(Text<float>(DType::kFloat32, {}), "00000000");
  EXPECT_EQ(Text<std::uint16_t>(DType::kBFloat16, {0x3F80, 0x4000}), "2e3fa576");
}

TEST(Checksum, ZeroDimensions) {
  const float one = 1;
  const auto text = ChecksumText(TensorChecksum({&one, DType::kFloat32, {}, {}}));
  EXPECT_EQ(std::string(text.begin(), text.end()), "aca16a6a");
}

TEST(Checksum, FollowsLogicalOrder) {
  EXPECT_EQ(Text<float>(DType::kFloat32, {1, 3, 2, 4}, {2, 2}, {1, 2}), "8ba71454") << "transposed";
  EXPECT_EQ(Text<float>(DType::kFloat32, {1, 9, 2, 9, 3, 9, 4, 9}, {4}, {2}), "8ba71454") << "with gaps";
  EXPECT_EQ(Text<std::uint16_t>(DType::kBFloat16, {0x3F80, 9, 0x4000, 9}, {2}, {2}), "2e3fa576");
  const std::vector<std::int8_t> zero = {5};
  EXPECT_EQ(Text<std::int8_t>(DType::kInt8, zero, {3}, {0}), Text<std::int8_t>(DType::kInt8, {5, 5, 5}));
}

TEST(Checksum, BFloat16EqualsItsFloat32) {
  std::vector<std::uint16_t> narrow;
  std::vector<float> wide;
  for (std::uint32_t i = 0; i < 100000; ++i) {
    narrow.push_back(static_cast<std::uint16_t>(i * 7919U));
    wide.push_back(BFloat16ToFloat(narrow.back()));
  }
  EXPECT_EQ(Text(DType::kBFloat16, narrow), Text(DType::kFloat32, wide));
}

TEST(Checksum, ContinuesInPieces) {
  const std::string text = "123456789";
  EXPECT_EQ(Crc32(0, text.data(), text.size()), 0xCBF43926U) << "the check value of CRC-32";
  EXPECT_EQ(Crc32(Crc32(0, text.data(), 4), text.data() + 4, 5), 0xCBF43926U);
  EXPECT_EQ(Crc32(0x12345678U, text.data(), 0), 0x12345678U);
}

TEST(Checksum, TextHasEightDigits) {
  const auto text = ChecksumText(0x0000ABCDU);
  EXPECT_EQ(std::string(text.begin(), text.end()), "0000abcd");
}

}  // namespace
}  // namespace msprobe
