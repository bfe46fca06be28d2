// Throughput of the numeric kernels on one core, bytes of input read per second:
//   numerics_benchmark [--benchmark_filter=Statistics]
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "numerics/checksum.h"
#include "numerics/error_metrics.h"
#include "numerics/random.h"
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

void Checksum(benchmark::State& state, DType dtype) {
  const std::int64_t bytes = state.range(0);
  const std::vector<std::byte> data = NormalData(dtype, bytes);
  const std::int64_t shape[] = {bytes / static_cast<std::int64_t>(ItemSize(dtype))};
  const TensorView view{data.data(), dtype, shape, {}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(TensorChecksum(view));
  }
  SetBytes(state, bytes);
}

// Bytes of both tensors; the bench is float64 for float32 and float32 for half precision, as in the checker. The first
// group is what every output gets, the second an API of the ULP list.
void Metrics(benchmark::State& state, DType device_dtype, bool with_ulp) {
  const DType bench_dtype = device_dtype == DType::kFloat32 ? DType::kFloat64 : DType::kFloat32;
  const std::int64_t count = state.range(0);
  const auto device_bytes = count * static_cast<std::int64_t>(ItemSize(device_dtype));
  const auto bench_bytes = count * static_cast<std::int64_t>(ItemSize(bench_dtype));
  const std::vector<std::byte> device = NormalData(device_dtype, device_bytes);
  const std::vector<std::byte> bench = NormalData(bench_dtype, bench_bytes);
  MetricRequest request;
  request.benchmark = true;
  request.ulp = with_ulp;
  request.small_value = 1e-3;
  request.small_value_absolute_tolerance = 1e-5;
  request.relative_tolerance = 1e-3;
  const std::int64_t shape[] = {count};
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        ComputeErrorMetrics({device.data(), device_dtype, shape, {}}, {bench.data(), bench_dtype, shape, {}}, request));
  }
  SetBytes(state, device_bytes + bench_bytes);
}

void Random(benchmark::State& state, DType dtype) {
  const std::int64_t bytes = state.range(0);
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  RandomRange range;
  range.low = -1;
  range.high = 1;
  range.integer_high = 100;
  for (auto _ : state) {
    FillRandom(dtype, data.data(), bytes / static_cast<std::int64_t>(ItemSize(dtype)), range, 1);
    benchmark::DoNotOptimize(data.data());
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
BENCHMARK_CAPTURE(Checksum, float32, DType::kFloat32)->Apply(Sizes);
BENCHMARK_CAPTURE(Checksum, bfloat16, DType::kBFloat16)->Apply(Sizes);
BENCHMARK_CAPTURE(Metrics, float32, DType::kFloat32, false)->Arg(256)->Arg(1 << 18)->Arg(32 << 20);
BENCHMARK_CAPTURE(Metrics, bfloat16, DType::kBFloat16, false)->Arg(1 << 18)->Arg(32 << 20);
BENCHMARK_CAPTURE(Metrics, float16, DType::kFloat16, false)->Arg(1 << 18);
BENCHMARK_CAPTURE(Metrics, float32_ulp, DType::kFloat32, true)->Arg(1 << 18);
BENCHMARK_CAPTURE(Metrics, float16_ulp, DType::kFloat16, true)->Arg(1 << 18);
BENCHMARK_CAPTURE(Random, float32, DType::kFloat32)->Arg(1 << 20);
BENCHMARK_CAPTURE(Random, bfloat16, DType::kBFloat16)->Arg(1 << 20);
BENCHMARK_CAPTURE(Random, float16, DType::kFloat16)->Arg(1 << 20);
BENCHMARK_CAPTURE(Random, int64, DType::kInt64)->Arg(1 << 20);

}  // namespace
}  // namespace msprobe

BENCHMARK_MAIN();
