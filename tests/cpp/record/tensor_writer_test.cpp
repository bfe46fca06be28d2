// What torch.load and numpy make of these files is tested from Python.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "record/temporary_folder.h"
#include "record/tensor_file.h"
#include "record/zip_crc32.h"

namespace msprobe {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Distinct bytes, so that a misplaced element shows.
std::vector<std::byte> Pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
  return data;
}

/// The elements in row-major order.
std::vector<std::byte> Elements(const TensorView& view) {
  std::vector<std::byte> out(static_cast<std::size_t>(ElementCount(view)) * ItemSize(view.dtype));
  CopyContiguous(view, out.data());
  return out;
}

TensorView ViewOf(const LoadedTensor& loaded) {
  return {loaded.bytes.data() + static_cast<std::size_t>(loaded.storage_offset) * ItemSize(loaded.dtype), loaded.dtype,
          loaded.shape, loaded.strides};
}

/// Writes and reads; shape, dtype and elements must be equal.
LoadedTensor RoundTrip(const TensorView& view, const std::string& path) {
  const Status written = path.ends_with(".pt") ? WritePtFile(path, view) : WriteNpyFile(path, view);
  EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
  auto loaded = ReadTensorFile(path);
  if (!loaded.ok()) {
    ADD_FAILURE() << loaded.error().message;
    return {};
  }
  EXPECT_EQ(loaded->shape, Sizes(view.shape.begin(), view.shape.end()));
  if (loaded->dtype == view.dtype) {
    EXPECT_EQ(Elements(ViewOf(*loaded)), Elements(view));
  }
  return std::move(*loaded);
}

TEST(TensorWriterTest, EveryDtypeAsPt) {
  const TemporaryFolder folder;
  const auto data = Pattern(6 * 16);
  const Sizes shape = {2, 3};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const LoadedTensor loaded = RoundTrip({data.data(), dtype, shape, {}}, folder / "t.pt");
    EXPECT_EQ(loaded.dtype, dtype);
    EXPECT_EQ(loaded.strides, (Sizes{3, 1}));
    EXPECT_EQ(loaded.bytes.size(), 6 * ItemSize(dtype));
  }
}

TEST(TensorWriterTest, EveryDtypeAsNpy) {
  const TemporaryFolder folder;
  const auto data = Pattern(6 * 16);
  const Sizes shape = {2, 3};
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const LoadedTensor loaded = RoundTrip({data.data(), dtype, shape, {}}, folder / "t.npy");
    const bool widened = dtype == DType::kBFloat16 || IsFloat8(dtype);
    EXPECT_EQ(loaded.dtype, widened ? DType::kFloat32 : dtype == DType::kComplex32 ? DType::kComplex64 : dtype);
  }
}

TEST(TensorWriterTest, WidenedValuesInNpy) {
  const TemporaryFolder folder;
  const std::uint16_t brain[] = {0x3F80, 0xC020, 0x7F80};  // 1, -2.5, infinity
  const Sizes three = {3};
  LoadedTensor loaded = RoundTrip({brain, DType::kBFloat16, three, {}}, folder / "b.npy");
  std::vector<float> values(3);
  ASSERT_EQ(loaded.bytes.size(), 12U);
  std::memcpy(values.data(), loaded.bytes.data(), 12);
  EXPECT_EQ(values, (std::vector<float>{1, -2.5F, std::numeric_limits<float>::infinity()}));

  // Through a transposed view: rows become columns.
  const std::uint16_t half[] = {0x3C00, 0x4000, 0x4200, 0x4400};  // (1+2i), (3+4i)
  const Sizes shape = {2, 1};
  const Sizes strides = {-1, 1};
  loaded = RoundTrip({half + 2, DType::kComplex32, shape, strides}, folder / "c.npy");
  values.resize(4);
  ASSERT_EQ(loaded.bytes.size(), 16U);
  std::memcpy(values.data(), loaded.bytes.data(), 16);
  EXPECT_EQ(values, (std::vector<float>{3, 4, 1, 2}));
}

TEST(TensorWriterTest, StridesAreKeptInPt) {
  const TemporaryFolder folder;
  const auto data = Pattern(1000);
  struct Case {
    Sizes shape;
    Sizes strides;
    std::size_t elements;  // of the storage written
  };
  const std::vector<Case> cases = {
      {{3, 4}, {1, 3}, 12},       // transposed
      {{1000, 2}, {0, 1}, 2},     // expanded
      {{5}, {0}, 1},              // one element many times
      {{2, 3}, {10, 2}, 15},      // a slice with gaps
      {{}, {}, 1},                // no dimensions
      {{2, 0, 3}, {7, 5, 1}, 0},  // no elements
      {{1, 4}, {777, 1}, 4},      // the stride of a single row does not matter
      {{2, 2}, {2, 1}, 4},
  };
  for (const Case& c : cases) {
    const LoadedTensor loaded = RoundTrip({data.data(), DType::kInt16, c.shape, c.strides}, folder / "t.pt");
    EXPECT_EQ(loaded.strides, c.strides);
    EXPECT_EQ(loaded.storage_offset, 0);
    EXPECT_EQ(loaded.bytes.size(), 2 * c.elements);
  }
}

TEST(TensorWriterTest, NegativeStridesAndWideGapsAreWrittenWithoutThem) {
  const TemporaryFolder folder;
  const auto data = Pattern(400'000);
  const Sizes shape = {100};
  const Sizes backwards = {-1};
  LoadedTensor loaded = RoundTrip({data.data() + 99, DType::kUint8, shape, backwards}, folder / "t.pt");
  EXPECT_EQ(loaded.strides, Sizes{1});
  const Sizes column = {1000};
  loaded = RoundTrip({data.data(), DType::kFloat32, shape, column}, folder / "t.pt");
  EXPECT_EQ(loaded.strides, Sizes{1});
  EXPECT_EQ(loaded.bytes.size(), 400U);
}

TEST(TensorWriterTest, StorageStartsAtAMultipleOf64) {
  const TemporaryFolder folder;
  const std::string marker = "-the-storage-stands-here-";
  const Sizes shape = {static_cast<std::int64_t>(marker.size())};
  ASSERT_TRUE(WritePtFile(folder / "t.pt", {marker.data(), DType::kUint8, shape, {}}).ok());
  EXPECT_EQ(ReadText(folder / "t.pt").find(marker) % 64, 0U);
  ASSERT_TRUE(WriteNpyFile(folder / "t.npy", {marker.data(), DType::kUint8, shape, {}}).ok());
  EXPECT_EQ(ReadText(folder / "t.npy").find(marker) % 64, 0U);
}

TEST(TensorWriterTest, ChecksumsAreThoseOfTheCallersFunctionOrTheOwn) {
  EXPECT_EQ(ZipCrc32(0, "123456789", 9), 0xCBF43926U);
  const auto data = Pattern(1000);
  for (std::size_t size = 0; size < 100; ++size) {  // whole and in two parts
    const std::uint32_t whole = ZipCrc32(0, data.data(), size);
    EXPECT_EQ(ZipCrc32(ZipCrc32(0, data.data(), size / 3), data.data() + size / 3, size - size / 3), whole);
  }
  const TemporaryFolder folder;
  const Sizes shape = {10};
  const auto wrong = [](std::uint32_t, const void*, std::size_t) { return std::uint32_t{1}; };
  ASSERT_TRUE(WritePtFile(folder / "t.pt", {data.data(), DType::kUint8, shape, {}}, wrong).ok());
  const auto loaded = ReadPtFile(folder / "t.pt");
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("checksum"), std::string::npos) << loaded.error().message;
}

TEST(TensorWriterTest, ImpossibleShapesAreErrors) {
  const TemporaryFolder folder;
  const auto data = Pattern(64);
  const auto fails = [&](const Sizes& shape, const Sizes& strides) {
    const Status status = WritePtFile(folder / "t.pt", {data.data(), DType::kFloat32, shape, strides});
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(std::filesystem::exists(folder / "t.pt"));
  };
  const std::int64_t big = std::int64_t{1} << 62U;
  fails({-1}, {1});
  fails({big, 4}, {});
  fails({big, 0, 4}, {0, 0, 0});
  fails({2}, {big});
  fails({3}, {std::numeric_limits<std::int64_t>::max()});
  fails({2, 2}, {1});
}

TEST(TensorWriterTest, FilesAppearWholeWithTheirModeAndReplaceNoLinkTarget) {
  const TemporaryFolder folder;
  const auto data = Pattern(64);
  const Sizes shape = {64};
  const TensorView view{data.data(), DType::kUint8, shape, {}};
  WriteText(folder / "target", "precious");
  for (const char* name : {"t.pt", "t.npy"}) {
    const std::string path = folder / name;
    ASSERT_EQ(::symlink((folder / "target").c_str(), path.c_str()), 0);
    const mode_t old_mask = ::umask(0);
    RoundTrip(view, path);
    ::umask(old_mask);
    struct stat status {};
    ASSERT_EQ(::lstat(path.c_str(), &status), 0);
    EXPECT_TRUE(S_ISREG(status.st_mode));
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
    EXPECT_EQ(ReadText(folder / "target"), "precious");
  }
  const Status no_folder = WritePtFile(folder / "missing/t.pt", view);
  ASSERT_FALSE(no_folder.ok());
  EXPECT_EQ(no_folder.error().code, ErrorCode::kOutput);
  EXPECT_NE(no_folder.error().message.find("missing/t.pt"), std::string::npos) << no_folder.error().message;
}

TEST(TensorWriterTest, AFullDiskLeavesNothingBehind) {
  const TemporaryFolder folder;
  const auto data = Pattern(100'000);
  const Sizes shape = {100'000};
  const TensorView view{data.data(), DType::kUint8, shape, {}};
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  auto* const old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{50'000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const Status pt = WritePtFile(folder / "t.pt", view);
  const Status npy = WriteNpyFile(folder / "t.npy", view);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(pt.ok());
  EXPECT_FALSE(npy.ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder / ""));
}

}  // namespace
}  // namespace msprobe
