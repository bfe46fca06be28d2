#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "record/record_samples.h"
#include "record/temporary_folder.h"
#include "record/tensor_file.h"
#include "record/tensor_pickle.h"
#include "record/zip_builder.h"

namespace msprobe {
namespace {

using Sizes = std::vector<std::int64_t>;
using Member = ZipBuilder::Member;

std::string Sample(const std::string& name) { return TestData("tensor_files/" + name); }

template <typename T>
std::vector<T> Values(const LoadedTensor& loaded) {
  std::vector<T> values(loaded.bytes.size() / sizeof(T));
  std::memcpy(values.data(), loaded.bytes.data(), loaded.bytes.size());
  return values;
}

std::string Int(std::int64_t value) {
  std::string code = "\x8a\x08";
  ZipBuilder::Number(code, static_cast<std::uint64_t>(value), 8);
  return code;
}

std::string Tuple(const Sizes& values) {
  std::string code = "(";
  for (const std::int64_t value : values) code += Int(value);
  return code + "t";
}

std::string Text(std::string_view text) {
  std::string code = "X";
  ZipBuilder::Number(code, text.size(), 4);
  return code + std::string(text);
}

std::string Storage(const std::string& storage_class, std::int64_t elements, const std::string& key = "0") {
  return "(" + Text("storage") + "c" + storage_class + "\n" + Text(key) + Text("npu:0") + Int(elements) + "tQ";
}

constexpr char kStart[] = "\x80\x02";

/// The pickle of a float32 tensor.
std::string Pickle(std::int64_t elements, std::int64_t offset, const Sizes& shape, const Sizes& strides) {
  return kStart + std::string("ctorch._utils\n_rebuild_tensor_v2\n(") + Storage("torch\nFloatStorage", elements) +
         Int(offset) + Tuple(shape) + Tuple(strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR.";
}

std::string File(const std::string& pickle, std::size_t storage_bytes) {
  return ZipBuilder::Build({{"x/data.pkl", pickle}, {"x/data/0", std::string(storage_bytes, '\1')}});
}

Result<LoadedTensor> Read(const std::string& bytes) {
  const TemporaryFolder folder;
  WriteText(folder / "t.pt", bytes);
  return ReadPtFile(folder / "t.pt");
}

/// Reading fails with an input error that mentions `what`.
void ExpectRefused(const Result<LoadedTensor>& loaded, const std::string& what) {
  ASSERT_FALSE(loaded.ok()) << what;
  EXPECT_EQ(loaded.error().code, ErrorCode::kInput);
  EXPECT_NE(loaded.error().message.find(what), std::string::npos) << loaded.error().message << "\nwanted: " << what;
  EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos) << loaded.error().message;
}

TEST(TensorReaderTest, FilesOfTorchSave) {
  auto strided = ReadTensorFile(Sample("float32_strided.pt"));
  ASSERT_TRUE(strided.ok()) << strided.error().message;
  EXPECT_EQ(strided->dtype, DType::kFloat32);
  EXPECT_EQ(strided->shape, (Sizes{3, 2, 3}));
  EXPECT_EQ(strided->strides, (Sizes{1, 12, 4}));
  EXPECT_EQ(strided->storage_offset, 1);
  EXPECT_EQ(Values<float>(*strided)[23], 23.0F);

  const auto untyped = ReadTensorFile(Sample("uint16_untyped.pt"));
  ASSERT_TRUE(untyped.ok()) << untyped.error().message;
  EXPECT_EQ(untyped->dtype, DType::kUint16);
  EXPECT_EQ(Values<std::uint16_t>(*untyped), (std::vector<std::uint16_t>{0, 1, 2, 3, 4, 5}));

  const auto parameter = ReadTensorFile(Sample("bfloat16_parameter.pt"));
  ASSERT_TRUE(parameter.ok()) << parameter.error().message;
  EXPECT_EQ(parameter->dtype, DType::kBFloat16);
  EXPECT_EQ(Values<std::uint16_t>(*parameter), (std::vector<std::uint16_t>{0x3F80, 0xC000}));

  const auto unchecked = ReadTensorFile(Sample("bool_without_checksums.pt"));
  ASSERT_TRUE(unchecked.ok()) << unchecked.error().message;
  EXPECT_EQ(Values<char>(*unchecked), (std::vector<char>{1, 0}));
}

TEST(TensorReaderTest, FilesOfTorchSaveThatHoldSomethingElse) {
  ExpectRefused(ReadTensorFile(Sample("calls_system.pt")), "posix.system");
  ExpectRefused(ReadTensorFile(Sample("dict.pt")), "not one tensor");
  ExpectRefused(ReadTensorFile(Sample("complex64_conjugated.pt")), "resolve_conj");
  ExpectRefused(ReadTensorFile(Sample("legacy.pt")), "not a ZIP file");
}

TEST(TensorReaderTest, FilesOfNumpy) {
  const auto fortran = ReadTensorFile(Sample("float64_fortran.npy"));
  ASSERT_TRUE(fortran.ok()) << fortran.error().message;
  EXPECT_EQ(fortran->dtype, DType::kFloat64);
  EXPECT_EQ(fortran->shape, (Sizes{2, 3}));
  EXPECT_EQ(fortran->strides, (Sizes{1, 2}));
  EXPECT_EQ(Values<double>(*fortran), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(TensorReaderTest, HandmadePtIsRead) {
  const auto loaded = Read(File(Pickle(6, 1, {2, 2}, {2, 1}), 24));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->storage_offset, 1);
  EXPECT_EQ(loaded->bytes.size(), 24U);

  const std::string plugin = kStart + std::string("ctorch_npu.utils.storage\n_rebuild_npu_tensor\n(") +
                             Storage("torch\nHalfStorage", 2) + Int(0) + Tuple({2}) + Tuple({1}) +
                             "\x89"
                             "N]" +
                             Int(2) + "a(" + Int(29) + Text("info") + "ttR.";
  const auto of_plugin = Read(File(plugin, 4));
  ASSERT_TRUE(of_plugin.ok()) << of_plugin.error().message;
  EXPECT_EQ(of_plugin->dtype, DType::kFloat16);
}

TEST(TensorReaderTest, WideZipFieldsAreRead) {
  for (const bool wide_end : {false, true}) {
    const auto loaded = Read(ZipBuilder::Build({{.name = "x/data.pkl", .content = Pickle(1, 0, {}, {}), .wide = true},
                                                {.name = "x/data/0", .content = "abcd", .wide = true}},
                                               wide_end));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded->bytes.size(), 4U);
  }
}

TEST(TensorReaderTest, ShapesMustFitTheStorage) {
  const std::int64_t big = std::int64_t{1} << 61U;
  EXPECT_TRUE(Read(File(Pickle(4, 3, {1000}, {0}), 16)).ok());
  EXPECT_TRUE(Read(File(Pickle(4, 9, {0, 7}, {7, 1}), 16)).ok());
  for (const std::string& pickle :
       {Pickle(4, 0, {5}, {1}), Pickle(4, 1, {4}, {1}), Pickle(4, 4, {1}, {1}), Pickle(4, 0, {2, 2}, {3, 1}),
        Pickle(4, -1, {1}, {1}), Pickle(4, 3, {2}, {-1}), Pickle(4, 0, {-2}, {1}), Pickle(4, 0, {2, 2}, {1}),
        Pickle(4, 0, {big, big}, {0, 0}), Pickle(4, 0, {2}, {big}),
        Pickle(4, 0, {3}, {std::numeric_limits<std::int64_t>::max()}),
        Pickle(4, std::numeric_limits<std::int64_t>::max(), {2}, {1}), Pickle(4, 0, {0, big, 8}, {0, 0, 0})}) {
    ExpectRefused(Read(File(pickle, 16)), "beyond its storage");
  }
  ExpectRefused(Read(File(Pickle(5, 0, {4}, {1}), 16)), "size that its pickle gives");
  ExpectRefused(Read(File(Pickle(3, 0, {3}, {1}), 16)), "size that its pickle gives");
  ExpectRefused(Read(File(Pickle(-4, 0, {3}, {1}), 16)), "impossible size");
  ExpectRefused(Read(File(Pickle(std::numeric_limits<std::int64_t>::max(), 0, {3}, {1}), 16)), "impossible size");
}

TEST(TensorReaderTest, HostileZipFiles) {
  const std::string pickle = Pickle(4, 0, {4}, {1});
  const std::string storage(16, '\1');
  const auto with = [&](Member member) {
    member.content = storage;
    return ZipBuilder::Build({{"x/data.pkl", pickle}, std::move(member)});
  };
  ASSERT_TRUE(Read(with({"x/data/0", ""})).ok());
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .method = 8})), "compressed");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .size_error = 1 << 30})), "outside the file");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .size_error = std::int64_t{1} << 62U, .wide = true})),
                "outside the file");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .offset_error = 1 << 30})), "outside the file");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .offset_error = std::int64_t{-1} << 62U, .wide = true})),
                "outside the file");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .offset_error = 1})), "header of member x/data/0");
  ExpectRefused(Read(with({.name = "x/data/0", .content = "", .local_name = "x/data/1"})), "header of member x/data/0");
  ExpectRefused(Read(with({.name = "x/data/1", .content = ""})), "missing");
  ExpectRefused(Read(with({.name = "x/../data/0", .content = ""})), "missing");
  ExpectRefused(Read(ZipBuilder::Build({{"x/data/0", storage}})), "no member data.pkl");
  ExpectRefused(Read(ZipBuilder::Build({})), "no member data.pkl");
  ExpectRefused(Read(ZipBuilder::Build({{"x/data.pkl", pickle}, {"x/data/0", storage}, {"x/byteorder", "big"}})),
                "big-endian");
  ExpectRefused(Read(ZipBuilder::Build({{"x/data.pkl", std::string(100'000, 'N')}})), "far larger");

  // The same bytes twice: a second entry that claims the first one's place.
  const std::string twice = ZipBuilder::Build(
      {{"x/data.pkl", pickle},
       {"x/data/0", storage},
       {.name = "x/data/0", .content = storage, .offset_error = -static_cast<std::int64_t>(30 + 8 + 16 + 16)}});
  ExpectRefused(Read(twice), "overlap");

  std::vector<Member> many(2000, Member{"x/data/1", ""});
  ExpectRefused(Read(ZipBuilder::Build(many)), "far larger");

  std::string flipped = File(pickle, 16);
  flipped[flipped.find(storage)] = '\2';
  ExpectRefused(Read(flipped), "checksum");
}

TEST(TensorReaderTest, EveryCutIsAnError) {
  const TemporaryFolder folder;
  for (const char* name : {"float32_strided.pt", "float64_fortran.npy"}) {
    const std::string path = folder / name;
    WriteText(path, ReadText(Sample(name)));
    ASSERT_TRUE(ReadTensorFile(path).ok());
    for (std::size_t size = std::filesystem::file_size(path); size-- > 0;) {
      std::filesystem::resize_file(path, size);
      EXPECT_FALSE(ReadTensorFile(path).ok()) << name << " cut to " << size;
    }
  }
}

TEST(TensorReaderTest, LinksAndOtherKindsOfFilesAreRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(::symlink(Sample("float32_strided.pt").c_str(), (folder / "link.pt").c_str()), 0);
  ExpectRefused(ReadTensorFile(folder / "link.pt"), "symbolic link");
  ASSERT_EQ(::mkfifo((folder / "pipe.pt").c_str(), 0600), 0);
  ExpectRefused(ReadTensorFile(folder / "pipe.pt"), "not a regular file");
  ASSERT_EQ(::mkdir((folder / "folder.npy").c_str(), 0700), 0);
  ExpectRefused(ReadTensorFile(folder / "folder.npy"), "not a regular file");
  ExpectRefused(ReadTensorFile(folder / "missing.pt"), "missing.pt");
  ExpectRefused(ReadTensorFile(Sample("float32_strided.bin")), "neither with .pt nor .npy");
}

TEST(TensorPickleTest, OnlyWhatATensorNeedsIsUnderstood) {
  const std::string start = kStart;
  const auto refused = [](const std::string& pickle, const std::string& what) {
    const auto tensor = ParseTensorPickle(pickle);
    ASSERT_FALSE(tensor.ok()) << what;
    EXPECT_NE(tensor.error().message.find(what), std::string::npos) << tensor.error().message << "\nwanted: " << what;
  };
  const std::string rebuild = "ctorch._utils\n_rebuild_tensor_v2\n(";
  const std::string rest = Int(0) + Tuple({1}) + Tuple({1});
  EXPECT_TRUE(ParseTensorPickle(Pickle(1, 0, {1}, {1})).ok());
  refused(start + "cos\nsystem\n" + Text("rm") + "\x85R.", "os.system");
  refused(start + "c__builtin__\neval\n.", "__builtin__.eval");
  refused(start + Text("builtins") + Text("exec") + "\x93.", "builtins.exec");
  refused(start + "ctorch.hub\nload\n.", "torch.hub.load");
  refused(start + "cos\nFloatStorage\n.", "os.FloatStorage");
  refused(start + "csub\nprocess\x01\n.", "sub.process_");
  refused(start + "ctorch._utils\n_rebuild_sparse_tensor\n(NNtR.", "_rebuild_sparse_tensor");
  refused(start + rebuild + Storage("torch\nQInt8Storage", 1) + rest + "tR.", "QInt8Storage");
  refused(start + rebuild + Storage("torch.storage\nUntypedStorage", 4) + rest + "tR.", "without a known dtype");
  refused(start + rebuild + Storage("torch\nFloatStorage", 1) + Int(0) + Tuple({1}) + "(NttR.", "not integers");
  refused(
      start + rebuild + Storage("torch\nFloatStorage", 1) + Int(0) + Tuple(Sizes(65, 1)) + Tuple(Sizes(65, 1)) + "tR.",
      "not integers");
  refused(start + rebuild + Storage("torch\nFloatStorage", 1) + rest + "\x89N}" + Text("conj") + "\x88stR.",
          "conjugated");
  refused(start + "(" + Text("storage") + "tQ.", "storage in an unknown way");
  refused(start + "NQ.", "storage in an unknown way");
  refused(start + "N.", "not one tensor");
  refused(start + ".", "more or less");
  refused(start + "NN.", "more or less");
  refused(start + "(N.", "more or less");
  refused(start + "NNR.", "calls something");
  refused(start + "ib.", "opcode");
  refused(start +
              "\x8a\x09"
              "123456789.",
          "more than 64 bits");
  refused("\x80\x01N.", "protocol");
  for (const char* code : {"t",      "\x85",
                           "N\x86",  "(\x85",
                           "s",      "NNNs",
                           "}NNNu",  "}(Nu",
                           "u",      "a",
                           "]a",     "](e",
                           "NNa",    "e",
                           "h\1",    "j\1",
                           "q\1",    "Q",
                           "R",      "}N(s",
                           "]N(a",   "X\xFF\xFF\xFF\xFF",
                           "c",      "ctorch\n",
                           "K",      "J\1",
                           "\x8a",   "\x8a\x04\1",
                           "\x95\1", "\x80"}) {
    EXPECT_FALSE(ParseTensorPickle(start + code).ok()) << code;
    EXPECT_FALSE(ParseTensorPickle(start + code + ".").ok()) << code;
  }
}

TEST(TensorPickleTest, IntegersOfEverySize) {
  const auto shape_of = [](const std::string& code) {
    const auto tensor = ParseTensorPickle(kStart + std::string("ctorch._utils\n_rebuild_tensor_v2\n(") +
                                          Storage("torch\nFloatStorage", 1) + code + "))tR.");
    return tensor.ok() ? tensor->storage_offset : -77;
  };
  EXPECT_EQ(shape_of("K\xFF"), 255);
  EXPECT_EQ(shape_of("M\xFF\xFF"), 65535);
  EXPECT_EQ(shape_of("J\xFE\xFF\xFF\xFF"), -2);
  EXPECT_EQ(shape_of(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(shape_of("\x8a\x01\xFE"), -2);
  EXPECT_EQ(shape_of(std::string("\x8a\x05\x00\x00\x00\x00\x01", 7)), std::int64_t{1} << 32U);
}

TEST(NpyReaderTest, HeadersThatDoNotFitAreErrors) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& header, std::size_t bytes, char version = 1) {
    std::string file = "\x93NUMPY";
    file += version;
    file += '\0';
    ZipBuilder::Number(file, header.size(), version == 1 ? 2 : 4);
    WriteText(folder / "t.npy", file + header + std::string(bytes, 'x'));
    return ReadNpyFile(folder / "t.npy");
  };
  EXPECT_TRUE(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8).ok());
  EXPECT_TRUE(read("{'shape': (2, 3), \"descr\": \"|u1\", 'fortran_order': True}", 6, 3).ok());
  EXPECT_TRUE(read("{'descr': '<c16', 'fortran_order': False, 'shape': ()}", 16, 2).ok());
  const std::string damaged = "damaged";
  ExpectRefused(read("", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), ", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False}", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8), damaged);
  ExpectRefused(read("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8), damaged);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8), damaged);
  ExpectRefused(read("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8), ">f4");
  ExpectRefused(read("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", 16), "|O");
  ExpectRefused(read("{'descr': '|V2', 'fortran_order': False, 'shape': (2,)}", 4), "|V2");
  const std::string size = "not what its shape needs";
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7), size);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9), size);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 0), size);
  ExpectRefused(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, 4), "version");
  WriteText(folder / "t.npy", "\x93NUMPY\1");
  ExpectRefused(ReadNpyFile(folder / "t.npy"), "cut short");
  WriteText(folder / "t.npy", "PK\x03\x04 and more bytes");
  ExpectRefused(ReadNpyFile(folder / "t.npy"), "not a .npy file");
}

}  // namespace
}  // namespace msprobe
