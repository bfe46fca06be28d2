// Readers of damaged files: whatever the bytes, a result or an error, and nothing that a sanitizer would report. The
// number of rounds may be raised by MSPROBE_MUTATION_ROUNDS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "record/dump_reader.h"
#include "record/json_writer.h"
#include "record/record_samples.h"
#include "record/temporary_folder.h"
#include "record/tensor_file.h"
#include "record/tensor_pickle.h"
#include "tensor/tensor_view.h"

namespace msprobe {
namespace {

int Rounds() {
  const char* named = std::getenv("MSPROBE_MUTATION_ROUNDS");
  return named == nullptr ? 400 : std::atoi(named);
}

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  /// A few changes of bytes, ranges, or the length.
  std::string Mutate(std::string text) {
    for (std::uint64_t changes = 1 + Below(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = Below(text.size());
      switch (Below(7)) {
        case 0:
          text[at] = static_cast<char>(random_());
          break;
        case 1:
          text[at] = static_cast<char>(text[at] ^ (1 << Below(8)));
          break;
        case 2:
          text.erase(at, 1 + Below(20));
          break;
        case 3:
          text.insert(at, text, Below(text.size()), 1 + Below(40));
          break;
        case 4:
          text.resize(at);
          break;
        case 5:  // a large or negative number where a length may stand
          for (std::size_t i = at; i < std::min(at + 4, text.size()); ++i) text[i] = Below(2) == 0 ? '\xFF' : '\0';
          break;
        default:
          text[at] = "{}[]\",:\\0-eN"[Below(12)];
          break;
      }
    }
    return text;
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  std::mt19937_64 random_;
};

TEST(MutationTest, Dumps) {
  const TemporaryFolder folder;
  const std::string path = folder / "dump.json";
  for (const char* name : {"generation_1.json", "newest_generation.json", "older_with_late_header.json"}) {
    const std::string text = ReadText(TestData(std::string("dumps/") + name));
    for (int round = 0; round < Rounds(); ++round) {
      const std::string mutated = Mutator(static_cast<std::uint32_t>(round)).Mutate(text);
      WriteText(path, mutated);
      const auto index = IndexDump(path);
      if (!index.ok()) {
        EXPECT_FALSE(index.error().message.empty());
        continue;
      }
      EXPECT_NE(index->truncated, index->truncation.empty());
      const auto reader = RecordTextReader::Open(path);
      ASSERT_TRUE(reader.ok());
      bool all_parsed = true;
      for (const RecordPosition& position : index->records) {
        const auto record_text = reader->Read(position);
        ASSERT_TRUE(record_text.ok()) << record_text.error().message;
        const auto record = ParseRecord(position.name, *record_text);
        all_parsed = all_parsed && record.ok();
        if (!record.ok()) continue;
        std::string again;
        AppendJson(again, *record);
        EXPECT_TRUE(ParseRecord(position.name, again).ok()) << again;
      }
      std::size_t seen = 0;
      const auto read = ReadDump(path, [&seen](Record&&) { return ++seen > 0; });
      EXPECT_EQ(read.ok(), all_parsed);
      if (read.ok()) {
        EXPECT_EQ(seen, index->records.size());
      }
    }
  }
}

TEST(MutationTest, TensorFiles) {
  const TemporaryFolder folder;
  int readable = 0;
  for (const char* name : {"float32_strided.pt", "uint16_untyped.pt", "bfloat16_parameter.pt",
                           "bool_without_checksums.pt", "calls_system.pt", "float64_fortran.npy"}) {
    const std::string text = ReadText(TestData(std::string("tensor_files/") + name));
    const std::string path = folder / name;
    for (int round = 0; round < Rounds(); ++round) {
      WriteText(path, Mutator(static_cast<std::uint32_t>(round)).Mutate(text));
      const auto loaded = ReadTensorFile(path);
      if (!loaded.ok()) {
        EXPECT_FALSE(loaded.error().message.empty());
        continue;
      }
      ++readable;
      // Every element may be touched, as far as a copy of them is of a sane size.
      const TensorView view{
          loaded->bytes.data() + static_cast<std::size_t>(loaded->storage_offset) * ItemSize(loaded->dtype),
          loaded->dtype, loaded->shape, loaded->strides};
      if (ElementCount(view) > 1 << 20) continue;
      std::vector<std::byte> copy(static_cast<std::size_t>(ElementCount(view)) * ItemSize(view.dtype));
      CopyContiguous(view, copy.data());
    }
  }
  EXPECT_GT(readable, 0) << "changes of the padding do no harm";
}

TEST(MutationTest, Pickles) {
  // The pickle by itself, where no checksum stands before it.
  for (const char* name : {"float32_strided.pt", "uint16_untyped.pt", "bfloat16_parameter.pt"}) {
    const std::string file = ReadText(TestData(std::string("tensor_files/") + name));
    const std::size_t start = file.find('\x80');
    const std::string pickle = file.substr(start, file.find("PK\x07\x08") - start);
    ASSERT_TRUE(ParseTensorPickle(pickle).ok()) << name;
    for (int round = 0; round < 10 * Rounds(); ++round) {
      const auto tensor = ParseTensorPickle(Mutator(static_cast<std::uint32_t>(round)).Mutate(pickle));
      if (!tensor.ok()) {
        EXPECT_FALSE(tensor.error().message.empty());
      }
    }
  }
}

}  // namespace
}  // namespace msprobe
