// Runs the cases of tests/cases/metrics: a new case needs no code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "numerics/error_metrics.h"
#include "numerics/targets.h"
#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

struct Tensor {
  DType dtype = DType::kFloat32;
  std::vector<std::byte> data;
  std::int64_t count = 0;
};

struct Case {
  std::string name;
  Tensor device;
  Tensor bench;
  std::vector<std::int64_t> shape;
  bool has_shape = false;
  MetricRequest request;
  std::vector<std::pair<std::string, std::string>> expected;
};

template <typename T>
void StoreIntegers(const std::vector<double>& values, std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    reinterpret_cast<T*>(out)[i] = static_cast<T>(values[i]);
  }
}

Tensor ReadTensor(std::istringstream& line) {
  Tensor tensor;
  std::string word;
  line >> word;
  tensor.dtype = ParseDType(word).value();
  std::vector<double> values;
  while (line >> word) {
    values.push_back(std::stod(word));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  tensor.count = count / ComponentCount(tensor.dtype);
  tensor.data.resize(static_cast<std::size_t>(tensor.count) * ItemSize(tensor.dtype));
  switch (tensor.dtype) {
    case DType::kBool:
    case DType::kUint8:
      StoreIntegers<std::uint8_t>(values, tensor.data.data());
      break;
    case DType::kInt32:
      StoreIntegers<std::int32_t>(values, tensor.data.data());
      break;
    case DType::kInt64:
      StoreIntegers<std::int64_t>(values, tensor.data.data());
      break;
    default:
      ConvertFromDouble(values.data(), count, ComponentDType(tensor.dtype), tensor.data.data());
  }
  return tensor;
}

std::vector<Case> ReadCases(const std::filesystem::path& path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  std::string text;
  while (std::getline(file, text)) {
    std::istringstream line(text);
    std::string word;
    if (!(line >> word) || word[0] == '#') {
      continue;
    }
    if (word == "case") {
      cases.emplace_back();
      std::getline(line, cases.back().name);
      continue;
    }
    Case& current = cases.at(cases.size() - 1);
    if (word == "device") {
      current.device = ReadTensor(line);
    } else if (word == "bench") {
      current.bench = ReadTensor(line);
    } else if (word == "shape") {
      current.has_shape = true;
      std::int64_t size = 0;
      while (line >> size) {
        current.shape.push_back(size);
      }
    } else if (word == "groups") {
      while (line >> word) {
        current.request.benchmark |= word == "benchmark";
        current.request.absolute_threshold |= word == "absolute";
        current.request.ulp |= word == "ulp";
        current.request.binary |= word == "binary";
      }
    } else if (word == "limits") {
      line >> current.request.small_value >> current.request.small_value_absolute_tolerance >>
          current.request.relative_tolerance;
    } else {
      std::string value;
      line >> value;
      current.expected.emplace_back(word, value);
    }
  }
  return cases;
}

const char* CosineCaseName(ErrorMetrics::Cosine cosine_case) {
  switch (cosine_case) {
    case ErrorMetrics::Cosine::kValue:
      return "value";
    case ErrorMetrics::Cosine::kScalar:
      return "scalar";
    case ErrorMetrics::Cosine::kBothZero:
      return "both_zero";
    case ErrorMetrics::Cosine::kDeviceZero:
      return "device_zero";
    case ErrorMetrics::Cosine::kBenchZero:
      return "bench_zero";
    case ErrorMetrics::Cosine::kNothingFinite:
      return "nothing_finite";
  }
  return "";
}

std::map<std::string, std::optional<double>> Fields(const ErrorMetrics& m) {
  return {
      {"count", static_cast<double>(m.count)},
      {"finite_count", static_cast<double>(m.finite_count)},
      {"mismatch_count", static_cast<double>(m.mismatch_count)},
      {"first_mismatch", static_cast<double>(m.first_mismatch)},
      {"first_mismatch_device", m.first_mismatch_device},
      {"first_mismatch_bench", m.first_mismatch_bench},
      {"cosine", m.cosine},
      {"max_absolute_error", m.max_absolute_error},
      {"max_absolute_error_index", static_cast<double>(m.max_absolute_error_index)},
      {"max_absolute_error_device", m.max_absolute_error_device},
      {"max_absolute_error_bench", m.max_absolute_error_bench},
      {"share_hundredth", m.share_hundredth},
      {"share_thousandth", m.share_thousandth},
      {"share_ten_thousandth", m.share_ten_thousandth},
      {"binary_mismatch_rate", m.binary_mismatch_rate},
      {"small_value_error_share", m.small_value_error_share},
      {"max_relative_error", m.max_relative_error},
      {"mean_relative_error", m.mean_relative_error},
      {"root_mean_square_error", m.root_mean_square_error},
      {"error_balance", m.error_balance},
      {"non_finite_error_rate", m.non_finite_error_rate},
      {"relative_error_rate", m.relative_error_rate},
      {"absolute_error_rate", m.absolute_error_rate},
      {"max_ulp_error", m.max_ulp_error},
      {"mean_ulp_error", m.mean_ulp_error},
      {"ulp_over_threshold_share", m.ulp_over_threshold_share},
  };
}

void Check(const Case& item) {
  const std::vector<std::int64_t> shape = item.has_shape ? item.shape : std::vector<std::int64_t>{item.device.count};
  ASSERT_EQ(item.device.count, item.bench.count);
  ASSERT_FALSE(item.expected.empty());
  const ErrorMetrics metrics = ComputeErrorMetrics({item.device.data.data(), item.device.dtype, shape, {}},
                                                   {item.bench.data.data(), item.bench.dtype, shape, {}}, item.request);
  const auto fields = Fields(metrics);
  for (const auto& [name, text] : item.expected) {
    if (name == "cosine_case") {
      EXPECT_EQ(CosineCaseName(metrics.cosine_case), text);
      continue;
    }
    ASSERT_TRUE(fields.contains(name)) << "no metric is called " << name;
    const std::optional<double> actual = fields.at(name);
    if (text == "none") {
      EXPECT_FALSE(actual.has_value()) << name << " is " << *actual;
      continue;
    }
    ASSERT_TRUE(actual.has_value()) << name << " is absent";
    const double expected = std::stod(text);
    if (std::isfinite(expected)) {
      EXPECT_NEAR(*actual, expected, std::fabs(expected) * 1e-6) << name;
    } else {
      EXPECT_TRUE(*actual == expected || (std::isnan(*actual) && std::isnan(expected))) << name << " is " << *actual;
    }
  }
}

TEST(ErrorMetricsCases, OnEveryTarget) {
  std::size_t case_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(MSPROBE_TEST_CASES) + "/metrics")) {
    for (const Case& item : ReadCases(entry.path())) {
      ++case_count;
      ForEachTarget([&](const std::string& target) {
        SCOPED_TRACE(entry.path().filename().string() + ":" + item.name + " on " + target);
        Check(item);
      });
    }
  }
  EXPECT_GT(case_count, 30U);
}

}  // namespace
}  // namespace msprobe
