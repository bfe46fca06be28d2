#include "replay/tensor_verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A tensor that owns its data.
struct Tensor {
  Tensor(DType dtype, std::vector<std::int64_t> shape, const std::vector<double>& values) : bytes(values.size() * 16) {
    host.dtype = dtype;
    host.shape = std::move(shape);
    if (IsFloating(dtype)) {
      ConvertFromDouble(values.data(), static_cast<std::int64_t>(values.size()), dtype, bytes.data());
    } else if (IsComplex(dtype)) {
      ConvertFromDouble(values.data(), static_cast<std::int64_t>(values.size()), ComponentDType(dtype), bytes.data());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto integer = static_cast<std::int64_t>(values[i]);
        std::memcpy(bytes.data() + i * ItemSize(dtype), &integer, ItemSize(dtype));
      }
    }
    host.data = bytes.data();
  }
  std::vector<std::byte> bytes;
  HostTensor host;
};

DetailsRow Judge(const std::string& api, DType bench_dtype, const std::vector<double>& bench, DType device_dtype,
                 const std::vector<double>& device) {
  const Tensor b(bench_dtype, {static_cast<std::int64_t>(bench.size())}, bench);
  const Tensor d(device_dtype, {static_cast<std::int64_t>(device.size())}, device);
  return JudgeTensors(api, b.host, d.host);
}

// Worked examples of precision_metrics.md 5.
TEST(Ladder, WorkedExamples) {
  const auto fp32 = Judge("exp", DType::kFloat64, {1, 2, 3}, DType::kFloat32, {1.01, 2, 3});
  EXPECT_EQ(fp32.verdict, Verdict::kError);
  EXPECT_NEAR(*fp32.cosine, 0.99999669, 1e-8);
  EXPECT_NEAR(*fp32.max_absolute_error, 0.00999999, 1e-8);
  EXPECT_NEAR(*fp32.share_thousandth, 2.0 / 3, 1e-12);
  EXPECT_FALSE(fp32.share_hundredth.has_value());

  const auto fp16 = Judge("exp", DType::kFloat32, {1, 2, 3}, DType::kFloat16, {1.01, 2, 3});
  EXPECT_EQ(fp16.verdict, Verdict::kWarning);
  EXPECT_EQ(*fp16.max_absolute_error, 0.009765625);
  EXPECT_EQ(*fp16.share_hundredth, 1);
  EXPECT_NEAR(fp16.metrics.error_balance, 1.0 / 3, 1e-12);
  EXPECT_NEAR(fp16.metrics.root_mean_square_error, 0.00563837, 1e-7);

  const auto fp64 = Judge("exp", DType::kFloat64, {100, 200, 300}, DType::kFloat64, {100.002, 200, 300});
  EXPECT_EQ(fp64.verdict, Verdict::kPass);
  EXPECT_FALSE(fp64.has_benchmark);

  const auto zeros = Judge("exp", DType::kFloat64, {0, 0, 0}, DType::kFloat32, {0, 0, 0});
  EXPECT_EQ(zeros.verdict, Verdict::kPass);
  EXPECT_FALSE(zeros.cosine.has_value());

  EXPECT_EQ(Judge("exp", DType::kFloat64, {1, 0, 0}, DType::kFloat32, {0, 0, 0}).verdict, Verdict::kError);
}

TEST(Ladder, NamesTheWorstElement) {
  const Tensor bench(DType::kFloat64, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor device(DType::kFloat32, {2, 3}, {1, 4, 2, 5, 3, 7});
  device.host.strides = {1, 2};  // column by column
  const auto row = JudgeTensors("exp", bench.host, device.host);
  EXPECT_EQ(row.verdict, Verdict::kError);
  EXPECT_NE(row.message.find("(1, 2): bench 6, device 7"), std::string::npos) << row.message;
}

TEST(Ladder, ScalarsHaveNoCosine) {
  const Tensor bench(DType::kFloat64, {}, {5});
  const Tensor device(DType::kFloat32, {}, {7});
  const auto row = JudgeTensors("exp", bench.host, device.host);
  EXPECT_EQ(row.verdict, Verdict::kError);
  EXPECT_FALSE(row.cosine.has_value());
  EXPECT_EQ(*row.max_absolute_error, 2);
  EXPECT_EQ(row.shape, "()");
}

TEST(Ladder, Float32WarnsBetweenThousandthAndTenThousandth) {
  std::vector<double> bench(1000, 100.0);
  std::vector<double> device = bench;
  device[5] = 100.05;
  EXPECT_EQ(Judge("exp", DType::kFloat64, bench, DType::kFloat32, device).verdict, Verdict::kWarning);
}

TEST(NonFinite, AgreementPassesAndDisagreementIsAnError) {
  EXPECT_EQ(Judge("exp", DType::kFloat64, {-kInfinity, 0, 1}, DType::kFloat32, {-kInfinity, 0, 1}).verdict,
            Verdict::kPass);
  EXPECT_EQ(Judge("exp", DType::kFloat64, {kNan, kNan}, DType::kFloat32, {kNan, kNan}).verdict, Verdict::kPass);
  EXPECT_EQ(Judge("exp", DType::kFloat64, {kInfinity, 1, 1}, DType::kFloat32, {-kInfinity, 1, 1}).verdict,
            Verdict::kError);
  const auto lost = Judge("clamp", DType::kFloat64, {1, kNan, 1}, DType::kFloat32, {1, 0, 1});
  EXPECT_EQ(lost.verdict, Verdict::kError);
  EXPECT_NE(lost.message.find("(1,)"), std::string::npos);
  // Beyond the range of the device's dtype infinity is the right answer.
  EXPECT_EQ(Judge("exp", DType::kFloat32, {70000, 1, 1}, DType::kFloat16, {kInfinity, 1, 1}).verdict, Verdict::kPass);
}

TEST(Gates, ShapesAndFamilies) {
  const auto shapes = Judge("exp", DType::kFloat64, {1, 2}, DType::kFloat32, {1, 2, 3});
  EXPECT_EQ(shapes.verdict, Verdict::kError);
  EXPECT_EQ(shapes.shape, "(3,)");
  EXPECT_EQ(Judge("exp", DType::kFloat64, {1, 2}, DType::kInt32, {1, 2}).verdict, Verdict::kError);
  EXPECT_EQ(Judge("exp", DType::kBool, {1, 0}, DType::kUint8, {1, 0}).verdict, Verdict::kPass);
  EXPECT_EQ(Judge("exp", DType::kInt64, {1, -2}, DType::kInt8, {1, -2}).verdict, Verdict::kPass);
  EXPECT_EQ(Judge("exp", DType::kBool, {1, 0}, DType::kInt32, {1, 0}).verdict, Verdict::kError);
}

TEST(Integers, AreJudgedByEquality) {
  const auto row = Judge("argmax", DType::kInt64, {1, 2, 3, 4}, DType::kInt64, {1, 2, 3, 5});
  EXPECT_EQ(row.verdict, Verdict::kError);
  EXPECT_EQ(*row.mismatch_rate, 0.25);
  EXPECT_EQ(Judge("argmax", DType::kInt64, {1, 2}, DType::kInt64, {1, 2}).verdict, Verdict::kPass);
}

TEST(Empty, PassesOnBothSides) {
  EXPECT_EQ(Judge("exp", DType::kFloat64, {}, DType::kFloat32, {}).verdict, Verdict::kPass);
  EXPECT_EQ(Judge("exp", DType::kInt64, {}, DType::kInt64, {}).verdict, Verdict::kPass);
}

TEST(Columns, ListsAddToTheBenchmark) {
  const auto mul = Judge("mul", DType::kFloat64, {1, 2}, DType::kFloat32, {1, 2});
  EXPECT_TRUE(mul.has_benchmark && mul.has_absolute_threshold && !mul.has_ulp);
  const auto matmul = Judge("matmul", DType::kFloat64, {1, 2}, DType::kFloat32, {1, 2});
  EXPECT_TRUE(matmul.has_benchmark && matmul.has_ulp);
  const auto abs = Judge("abs", DType::kFloat64, {1, 2}, DType::kFloat32, {1, 2.5});
  EXPECT_TRUE(abs.has_benchmark);
  EXPECT_EQ(*abs.mismatch_rate, 0.5);
  const auto conv = Judge("conv2d", DType::kFloat32, {1, 2}, DType::kFloat32, {1, 2});
  EXPECT_EQ(*conv.share_thousandth, 1);
  EXPECT_FALSE(Judge("mul", DType::kFloat64, {1, 2}, DType::kFloat64, {1, 2}).has_absolute_threshold);
}

TEST(Complex, IsTwiceAsManyNumbers) {
  const Tensor bench(DType::kComplex128, {2}, {1, 2, 3, 4});
  const Tensor good(DType::kComplex64, {2}, {1, 2, 3, 4});
  const Tensor bad(DType::kComplex64, {2}, {1, 2, 3, -4});
  EXPECT_EQ(JudgeTensors("mul", bench.host, good.host).verdict, Verdict::kPass);
  EXPECT_EQ(JudgeTensors("mul", bench.host, bad.host).verdict, Verdict::kError);
}

TEST(Dropout, ComparesSharesOfZerosFrom100Elements) {
  std::vector<double> bench(100, 1.0);
  std::vector<double> device(100, 1.0);
  for (std::size_t i = 0; i < 50; ++i) device[i] = 0;
  const Tensor b(DType::kFloat64, {100}, bench);
  const Tensor d(DType::kFloat32, {100}, device);
  const auto row = JudgeDropout(b.host, d.host);
  EXPECT_EQ(row.verdict, Verdict::kError);
  EXPECT_NE(row.message.find("50.00 %"), std::string::npos);
  const Tensor b99(DType::kFloat64, {99}, bench);
  const Tensor d99(DType::kFloat32, {99}, device);
  EXPECT_EQ(JudgeDropout(b99.host, d99.host).verdict, Verdict::kPass);
  EXPECT_EQ(JudgeDropout(b.host, d99.host).verdict, Verdict::kError);
}

TEST(Random, OnlyDTypeAndShape) {
  const Tensor bench(DType::kFloat64, {2}, {1, 2});
  const Tensor device(DType::kFloat32, {2}, {5, 6});
  const Tensor other(DType::kFloat32, {3}, {5, 6, 7});
  EXPECT_EQ(JudgeByShape(Treatment::kRandom, bench.host, device.host).verdict, Verdict::kPass);
  EXPECT_EQ(JudgeByShape(Treatment::kRandom, bench.host, other.host).verdict, Verdict::kError);
}

TEST(DetailsCells, FormatOfNumbers) {
  EXPECT_EQ(FixedText(0.99999994597235, 14), "0.99999994597235");
  EXPECT_EQ(FixedText(16551.0439453125, 14), "16551.04394531250000");
  EXPECT_EQ(FixedText(-0.0, 2), "0.00");
  EXPECT_EQ(FixedText(-1e-9, 2), "0.00");
  EXPECT_EQ(FixedText(kNan, 2), "nan");
  EXPECT_EQ(FixedText(kInfinity, 2), "inf");
  EXPECT_EQ(FixedText(-kInfinity, 2), "-inf");
  EXPECT_EQ(FixedText(1e308, 0).size(), 309u);
  EXPECT_EQ(ShapeText(std::vector<std::int64_t>{}), "()");
  EXPECT_EQ(ShapeText(std::vector<std::int64_t>{8}), "(8,)");
  EXPECT_EQ(ShapeText(std::vector<std::int64_t>{4, 4}), "(4, 4)");
}

TEST(DetailsCells, ColumnsAndNoData) {
  const auto row = Judge("mul", DType::kFloat64, {1, 2}, DType::kFloat32, {1, 2});
  const auto cells = DetailsCells("Torch.mul.0.forward.output.0", row, 14);
  ASSERT_EQ(cells.size(), 23u);
  EXPECT_EQ(cells[0], "Torch.mul.0.forward.output.0");
  EXPECT_EQ(cells[1], "torch.float64");
  EXPECT_EQ(cells[2], "torch.float32");
  EXPECT_EQ(cells[3], "(2,)");
  EXPECT_EQ(cells[4], "1.00000000000000");
  EXPECT_EQ(cells[5], "0.00000000000000");
  EXPECT_EQ(cells[6], " ");
  EXPECT_EQ(cells[12], "0");  // no small values
  EXPECT_EQ(cells[15], "0");  // no infinite values
  EXPECT_EQ(cells[16], "0.00000000000000");
  EXPECT_EQ(cells[18], " ");
  EXPECT_EQ(cells[21], "pass");
  EXPECT_FALSE(cells[22].empty());
}

}  // namespace
}  // namespace msprobe
