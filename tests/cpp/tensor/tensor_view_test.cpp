#include "tensor/tensor_view.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace msprobe {
namespace {

using Shape = std::vector<std::int64_t>;

TensorView View(const void* data, DType dtype, const Shape& shape, const Shape& strides = {}) {
  return {data, dtype, shape, strides};
}

// The plain definition: element by element over all indices.
template <typename T>
std::vector<T> Reference(const T* data, const Shape& shape, const Shape& strides) {
  std::vector<T> out;
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    count *= size;
  }
  for (std::int64_t flat = 0; flat < count; ++flat) {
    std::int64_t rest = flat;
    std::int64_t offset = 0;
    for (std::size_t i = shape.size(); i-- > 0;) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    out.push_back(data[offset]);
  }
  return out;
}

template <typename T>
std::vector<T> Collect(const TensorView& view) {
  std::vector<T> out;
  bool last = false;
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    EXPECT_FALSE(last) << "only the last run may be uneven";
    EXPECT_GT(count, 0);
    last = count % kBlockElements != 0;
    const std::size_t old = out.size();
    out.resize(old + static_cast<std::size_t>(count));
    std::memcpy(static_cast<void*>(out.data() + old), data, static_cast<std::size_t>(count) * sizeof(T));
  });
  return out;
}

TEST(TensorView, ElementCount) {
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {})), 1);
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {2, 3})), 6);
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {2, 0, 3})), 0);
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {huge, 0, huge})), 0);
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {huge, huge, 0})), 0);
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {huge, huge})), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ElementCount(View(nullptr, DType::kFloat32, {-1})), 0);
}

TEST(TensorView, Contiguity) {
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {2, 3})));
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {2, 3}, {3, 1})));
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {2, 1, 3}, {3, 99, 1})));
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {1, 3}, {0, 1})));
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {0, 3}, {1, 7})));
  EXPECT_TRUE(IsContiguous(View(nullptr, DType::kInt8, {})));
  EXPECT_FALSE(IsContiguous(View(nullptr, DType::kInt8, {2, 3}, {1, 2})));
  EXPECT_FALSE(IsContiguous(View(nullptr, DType::kInt8, {2, 3}, {4, 1})));
  EXPECT_FALSE(IsContiguous(View(nullptr, DType::kInt8, {3}, {0})));
  EXPECT_FALSE(IsContiguous(View(nullptr, DType::kInt8, {3}, {-1})));
}

TEST(TensorView, ReadsContiguousMemoryInPlace) {
  std::vector<float> data(100000);
  std::iota(data.begin(), data.end(), 0.0F);
  int calls = 0;
  ForEachBlock(View(data.data(), DType::kFloat32, {100, 1000}), [&](const void* block, std::int64_t count) {
    ++calls;
    EXPECT_EQ(block, data.data());
    EXPECT_EQ(count, 100000);
  });
  EXPECT_EQ(calls, 1);
}

TEST(TensorView, EmptyTensorHasNoBlock) {
  ForEachBlock(View(nullptr, DType::kFloat32, {0}), [](const void*, std::int64_t) { FAIL(); });
  ForEachBlock(View(nullptr, DType::kFloat32, {3, 0}, {7, 2}), [](const void*, std::int64_t) { FAIL(); });
}

struct StrideCase {
  Shape shape;
  Shape strides;
};

template <typename T>
void CheckAgainstReference(DType dtype) {
  std::vector<T> data(70000);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<T>(static_cast<float>(i % 4093));
  }
  const T* middle = data.data() + 35000;
  const StrideCase cases[] = {
      {{3, 5}, {1, 3}},                // transposed
      {{5}, {0}},                      // expanded
      {{4, 3}, {0, 1}},                // expanded rows
      {{4, 3}, {1, 0}},                // expanded columns
      {{7}, {-1}},                     // flipped
      {{7, 5}, {-5, 1}},               // rows flipped
      {{7, 5}, {-10, -2}},             // both, with gaps
      {{2, 3, 4}, {1, 2, 6}},          // all dimensions reversed
      {{2, 3, 4, 5}, {60, 1, 15, 3}},  // permuted
      {{1, 3, 1, 2}, {77, 4, -9, 2}},  // dimensions of size 1
      {{2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32}},
      {{100, 300}, {1, 100}},  // several buffers
      {{300, 100}, {110, 1}},  // inner rows contiguous, several buffers
      {{17, 33, 29}, {33, 1, 561}},
      {{3, 4, 5}, {40, 10, 2}},  // every other element: two dimensions merge
  };
  for (const StrideCase& item : cases) {
    const TensorView view = View(middle, dtype, item.shape, item.strides);
    const std::vector<T> expected = Reference(middle, item.shape, item.strides);
    EXPECT_EQ(Collect<T>(view), expected) << ::testing::PrintToString(item.strides);
    std::vector<T> copy(expected.size());
    CopyContiguous(view, copy.data());
    EXPECT_EQ(copy, expected) << ::testing::PrintToString(item.strides);
  }
}

TEST(TensorView, StridedReadingOneByte) { CheckAgainstReference<std::uint8_t>(DType::kUint8); }
TEST(TensorView, StridedReadingTwoBytes) { CheckAgainstReference<std::uint16_t>(DType::kBFloat16); }
TEST(TensorView, StridedReadingFourBytes) { CheckAgainstReference<float>(DType::kFloat32); }
TEST(TensorView, StridedReadingEightBytes) { CheckAgainstReference<double>(DType::kFloat64); }
TEST(TensorView, StridedReadingSixteenBytes) { CheckAgainstReference<std::complex<double>>(DType::kComplex128); }

TEST(TensorView, LargeTransposedTensors) {
  std::vector<std::int32_t> data(700 * 500);
  std::iota(data.begin(), data.end(), 0);
  const StrideCase cases[] = {
      {{700, 500}, {1, 700}},
      {{5, 140, 500}, {140, 1, 700}},
      {{500, 700}, {1, 0}},
      {{10, 50, 700}, {35000, 1, 50}},
  };
  for (const StrideCase& item : cases) {
    const TensorView view = View(data.data(), DType::kInt32, item.shape, item.strides);
    const std::vector<std::int32_t> expected = Reference(data.data(), item.shape, item.strides);
    EXPECT_TRUE(Collect<std::int32_t>(view) == expected) << ::testing::PrintToString(item.strides);
    std::vector<std::int32_t> copy(expected.size());
    CopyContiguous(view, copy.data());
    EXPECT_TRUE(copy == expected) << ::testing::PrintToString(item.strides);
  }
}

TEST(TensorView, RandomStridesInUnevenPieces) {
  std::mt19937 random(7);
  std::vector<std::int32_t> data(200000);
  std::iota(data.begin(), data.end(), 0);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = 1 + random() % 5;
    Shape shape(rank);
    Shape strides(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      shape[i] = 1 + static_cast<std::int64_t>(random() % 9);
      strides[i] = random() % 3 == 0 ? 1 : static_cast<std::int64_t>(random() % 4001) - 2000;
    }
    const std::int32_t* middle = data.data() + 100000;
    const std::vector<std::int32_t> expected = Reference(middle, shape, strides);
    BlockReader reader(View(middle, DType::kInt32, shape, strides));
    std::vector<std::int32_t> got;
    while (reader.remaining() > 0) {
      const std::int64_t count =
          std::min<std::int64_t>(1 + static_cast<std::int64_t>(random() % 50), reader.remaining());
      std::vector<std::int32_t> buffer(static_cast<std::size_t>(count));
      const auto* block = static_cast<const std::int32_t*>(reader.Next(count, buffer.data()));
      got.insert(got.end(), block, block + count);
    }
    ASSERT_EQ(got, expected) << ::testing::PrintToString(shape) << ::testing::PrintToString(strides);
  }
}

TEST(TensorView, CopyOfScalarAndContiguous) {
  const double value = 2.5;
  double out = 0;
  CopyContiguous(View(&value, DType::kFloat64, {}), &out);
  EXPECT_EQ(out, 2.5);
  const std::vector<std::int16_t> data = {1, 2, 3, 4};
  std::vector<std::int16_t> copy(4);
  CopyContiguous(View(data.data(), DType::kInt16, {2, 2}, {2, 1}), copy.data());
  EXPECT_EQ(copy, data);
}

TEST(TensorView, ManyDimensionsOfSizeOne) {
  const Shape shape(200, 1);
  const Shape strides(200, 5);
  const std::int8_t value = 3;
  EXPECT_EQ(Collect<std::int8_t>(View(&value, DType::kInt8, shape, strides)), std::vector<std::int8_t>{3});
}

}  // namespace
}  // namespace msprobe
