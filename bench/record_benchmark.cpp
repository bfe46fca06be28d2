// Cost of dump files on one core: JSON text written and read, members flushed, tensor files written and read.
//   record_benchmark [--benchmark_filter=Read]
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "record/dump_reader.h"
#include "record/json_journal.h"
#include "record/json_writer.h"
#include "record/tensor_file.h"
#include "record/zip_crc32.h"

namespace msprobe {
namespace {

constexpr int kTensorsPerRecord = 5;

/// Names a file of this process in the temporary folder.
std::string TemporaryPath(const std::string& name) {
  static const std::string folder = [] {
    std::string path = (std::filesystem::temp_directory_path() / "msprobe_benchmark_XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) std::abort();
    return path;
  }();
  return folder + "/" + name;
}

/// A record as a collector makes it: four inputs and an output with statistics, some scalars.
Record MakeRecord(std::mt19937_64& random, int index) {
  std::normal_distribution<float> normal;
  const auto tensor = [&](int position) {
    TensorElement element;
    element.dtype = "torch.float32";
    element.shape = {8, 128, 768};
    element.max = StatisticValue(static_cast<double>(normal(random)));
    element.min = StatisticValue(static_cast<double>(normal(random)));
    element.mean = StatisticValue(static_cast<double>(normal(random)) / 3);
    element.norm = StatisticValue(static_cast<double>(normal(random)) * 7);
    element.requires_grad = position == 0;
    return Element(std::make_unique<TensorElement>(std::move(element)));
  };
  Record record;
  record.name = "Functional.linear." + std::to_string(index) + ".forward";
  ElementList inputs;
  for (int i = 0; i < kTensorsPerRecord - 1; ++i) inputs.push_back(tensor(i));
  inputs.push_back(Typed("int", 3));
  ElementObject keywords;
  keywords.push_back({"threshold", Typed("float", 0.5)});
  ElementList outputs;
  outputs.push_back(tensor(0));
  record.sections.push_back({"input_args", Element(std::move(inputs))});
  record.sections.push_back({"input_kwargs", Element(std::move(keywords))});
  record.sections.push_back({"output", Element(std::move(outputs))});
  return record;
}

std::vector<Record> MakeRecords(int count) {
  std::mt19937_64 random(1);
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.push_back(MakeRecord(random, i));
  return records;
}

/// A dump of about 80 MB; `indented` as Python's json module with indent 1 writes it, else as we do.
const std::string& DumpPath(bool indented) {
  static std::string paths[2];
  std::string& path = paths[indented ? 1 : 0];
  if (!path.empty()) return path;
  path = TemporaryPath(indented ? "indented.json" : "dump.json");
  const std::vector<Record> records = MakeRecords(500);
  std::string text = "{\n \"task\": \"statistics\",\n \"level\": \"L1\",\n \"dump_data_dir\": null,\n \"data\": {";
  for (int copy = 0; text.size() < 80'000'000; ++copy) {
    for (const Record& record : records) {
      text += text.back() == '{' ? "\n  " : ",\n  ";
      AppendJsonString(text, record.name + std::to_string(copy));
      text += ": ";
      std::string value;
      AppendJson(value, record);
      if (!indented) {
        text += value;
        continue;
      }
      std::string margin = "\n  ";
      for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        const bool opens = c == '{' || c == '[';
        if (c == '}' || c == ']') margin.pop_back();
        if (c == '}' || c == ']') text += margin;
        text += c;
        if (opens) margin += ' ';
        if (opens || c == ',') text += margin;
        if (c == ',') ++i;  // the blank
      }
    }
  }
  text += "\n }\n}\n";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file) != text.size()) std::abort();
  std::fclose(file);
  return path;
}

std::int64_t FileSize(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

void WriteJson(benchmark::State& state) {
  const std::vector<Record> records = MakeRecords(500);
  std::string out;
  std::int64_t bytes = 0;
  for (auto _ : state) {
    out.clear();
    for (const Record& record : records) AppendJson(out, record);
    benchmark::DoNotOptimize(out.data());
    bytes += static_cast<std::int64_t>(out.size());
  }
  state.SetBytesProcessed(bytes);
  state.counters["records/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 500, benchmark::Counter::kIsRate);
}
BENCHMARK(WriteJson);

/// Members of 1.2 KB, a flush for every `range` of them.
void FlushJournal(benchmark::State& state) {
  const std::vector<Record> records = MakeRecords(1);
  std::string value;
  AppendJson(value, records.front());
  const std::string path = TemporaryPath("journal.json");
  auto journal = JsonJournal::Create(path, "{\n \"data\": {", "\n }\n}\n", "  ");
  if (!journal.ok()) std::abort();
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) journal->Add("Functional.linear.0.forward", value);
    if (!journal->Flush().ok()) std::abort();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * static_cast<std::int64_t>(value.size()));
  ::unlink(path.c_str());
}
BENCHMARK(FlushJournal)->Arg(1)->Arg(100);

void Index(benchmark::State& state, bool indented) {
  const std::string& path = DumpPath(indented);
  for (auto _ : state) {
    const auto index = IndexDump(path);
    if (!index.ok() || index->truncated) std::abort();
  }
  state.SetBytesProcessed(state.iterations() * FileSize(path));
}
BENCHMARK_CAPTURE(Index, lines, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Index, indented, true)->Unit(benchmark::kMillisecond);

void Read(benchmark::State& state, bool indented) {
  const std::string& path = DumpPath(indented);
  for (auto _ : state) {
    std::size_t sections = 0;
    const auto index = ReadDump(path, [&](Record&& record) {
      sections += record.sections.size();
      return true;
    });
    if (!index.ok() || index->truncated) std::abort();
    benchmark::DoNotOptimize(sections);
  }
  state.SetBytesProcessed(state.iterations() * FileSize(path));
}
BENCHMARK_CAPTURE(Read, lines, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Read, indented, true)->Unit(benchmark::kMillisecond);

/// A new file for each iteration, as in a dump; `range` float32 elements. The files stay until the end, since a file
/// system that has just deleted many is slow to create some.
void WriteTensorFile(benchmark::State& state, const char* suffix,
                     Status (*write)(const std::string&, const TensorView&)) {
  const std::vector<float> data(static_cast<std::size_t>(state.range(0)), 1.5F);
  const std::int64_t shape[] = {state.range(0)};
  const TensorView view{data.data(), DType::kFloat32, shape, {}};
  const std::string start = TemporaryPath("t" + std::to_string(state.range(0)) + "_");
  std::int64_t number = 0;
  for (auto _ : state) {
    if (!write(start + std::to_string(number++) + suffix, view).ok()) std::abort();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 4);
}
Status WritePt(const std::string& path, const TensorView& view) { return WritePtFile(path, view); }
BENCHMARK_CAPTURE(WriteTensorFile, pt, ".pt", WritePt)->Arg(64)->Iterations(3000);
BENCHMARK_CAPTURE(WriteTensorFile, pt, ".pt", WritePt)->Arg(16 << 10)->Iterations(1000);
BENCHMARK_CAPTURE(WriteTensorFile, pt, ".pt", WritePt)->Arg(4 << 20)->Iterations(20);
BENCHMARK_CAPTURE(WriteTensorFile, npy, ".npy", WriteNpyFile)->Arg(64)->Iterations(3000);
BENCHMARK_CAPTURE(WriteTensorFile, npy, ".npy", WriteNpyFile)->Arg(16 << 10)->Iterations(1000);
BENCHMARK_CAPTURE(WriteTensorFile, npy, ".npy", WriteNpyFile)->Arg(4 << 20)->Iterations(20);

void ReadTensor(benchmark::State& state) {
  const std::vector<float> data(static_cast<std::size_t>(state.range(0)), 1.5F);
  const std::int64_t shape[] = {state.range(0)};
  const std::string path = TemporaryPath("read.pt");
  if (!WritePtFile(path, {data.data(), DType::kFloat32, shape, {}}).ok()) std::abort();
  for (auto _ : state) {
    const auto loaded = ReadPtFile(path);
    if (!loaded.ok()) std::abort();
    benchmark::DoNotOptimize(loaded->bytes.data());
  }
  ::unlink(path.c_str());
  state.SetBytesProcessed(state.iterations() * state.range(0) * 4);
}
BENCHMARK(ReadTensor)->Arg(64)->Arg(16 << 10)->Arg(4 << 20);

void Checksum(benchmark::State& state) {
  const std::vector<char> data(1 << 20, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(ZipCrc32(0, data.data(), data.size()));
  state.SetBytesProcessed(state.iterations() * (1 << 20));
}
BENCHMARK(Checksum);

}  // namespace
}  // namespace msprobe

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::error_code ignored;
  std::filesystem::remove_all(msprobe::TemporaryPath(""), ignored);
  return 0;
}
