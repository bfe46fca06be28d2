// Throughput of the numeric kernels on one core, bytes of input read per second:
//   numerics_benchmark [--benchmark_filter=Statistics]
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "numerics/statistics.h"
#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

// Normally distributed values in the given dtype.
std::vector<std::byte> NormalData(DType dtype, std::int64_t bytes) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  const auto count = bytes / static_cast<std::int64_t>(ItemSize(dtype));
  // Repeats every 64 Ki values: the kernels do not mind, and large inputs are made quickly.
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(65536);
  for (double& value : values) {
    value = normal(random);
  }
  for (std::int64_t start = 0; start < count; start += 65536) {
    const std::int64_t length = std::min<std::int64_t>(65536, count - start);
    std::byte* out = data.data() + start * static_cast<std::int64_t>(ItemSize(dtype));
    if (IsFloating(dtype)) {
      ConvertFromDouble(values.data(), length, dtype, out);
    } else {
      for (std::size_t i = 0; i < static_cast<std::size_t>(length) * ItemSize(dtype); ++i) {
        out[i] = static_cast<std::byte>(random());
      }
    }
  }
  return data;
}

void SetBytes(benchmark::State& state, std::int64_t bytes) { state.SetBytesProcessed(state.iterations() * bytes); }

void Statistics(benchmark::State& state, DType dtype) {
  const std::int64_t bytes = state.range(0);
  const std::vector<std::byte> data = NormalData(dtype, bytes);
  const std::int64_t shape[] = {bytes / static_cast<std::int64_t>(ItemSize(dtype))};
  const TensorView view{data.data(), dtype, shape, {}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(ComputeStatistics(view));
  }
  SetBytes(state, bytes);
}

void StatisticsTransposed(benchmark::State& state, DType dtype) {
  const std::int64_t side = state.range(0);
  const std::int64_t bytes = side * side * static_cast<std::int64_t>(ItemSize(dtype));
  const std::vector<std::byte> data = NormalData(dtype, bytes);
  const std::int64_t shape[] = {side, side};
  const std::int64_t strides[] = {1, side};
  const TensorView view{data.data(), dtype, shape, strides};
  for (auto _ : state) {
    benchmark::DoNotOptimize(ComputeStatistics(view));
  }
  SetBytes(state, bytes);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1 << 10)->Arg(32 << 10)->Arg(1 << 20)->Arg(512 << 20);
}

BENCHMARK_CAPTURE(Statistics, float32, DType::kFloat32)->Apply(Sizes);
BENCHMARK_CAPTURE(Statistics, bfloat16, DType::kBFloat16)->Apply(Sizes);
BENCHMARK_CAPTURE(Statistics, float16, DType::kFloat16)->Arg(1 << 20);
BENCHMARK_CAPTURE(Statistics, float64, DType::kFloat64)->Arg(1 << 20)->Arg(512 << 20);
BENCHMARK_CAPTURE(Statistics, int8, DType::kInt8)->Arg(1 << 20);
BENCHMARK_CAPTURE(Statistics, int32, DType::kInt32)->Arg(1 << 20);
BENCHMARK_CAPTURE(Statistics, int64, DType::kInt64)->Arg(1 << 20);
BENCHMARK_CAPTURE(Statistics, bool, DType::kBool)->Arg(1 << 20);
BENCHMARK_CAPTURE(Statistics, float8_e4m3fn, DType::kFloat8E4M3Fn)->Arg(1 << 20);
BENCHMARK_CAPTURE(StatisticsTransposed, float32, DType::kFloat32)->Arg(16)->Arg(256)->Arg(4096);

}  // namespace
}  // namespace msprobe

BENCHMARK_MAIN();
