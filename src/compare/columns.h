#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace msprobe {

/// Metrics that the comparison reads from a details file (precision_standards.md 2).
enum class Metric : std::size_t {
  kSmallValueShare,
  kRootMeanSquareError,
  kMaxRelativeError,
  kMeanRelativeError,
  kErrorBalance,
  kBinaryMismatch,
  kInfNanMismatch,
  kRelativeErrorRate,
  kAbsoluteErrorRate,
  kUlpMean,
  kUlpShare,
  kThousandth,
};
inline constexpr std::size_t kMetricCount = 12;

inline constexpr std::array<std::string_view, kMetricCount> kMetricHeadings = {
    "小值域错误占比", "均方根误差",     "相对误差最大值", "相对误差平均值", "误差均衡性",          "二进制一致错误率",
    "inf/nan错误率",  "相对误差错误率", "绝对误差错误率", "ULP误差平均值",  "ULP误差大于阈值占比", "双千指标"};

constexpr std::string_view MetricHeading(Metric metric) { return kMetricHeadings[static_cast<std::size_t>(metric)]; }

/// Columns of api_precision_compare_details (precision_standards.md 7), in order.
enum class DetailsColumn : std::size_t {
  kApiName,
  kSmallValueRatio,
  kSmallValueStatus,
  kRootMeanSquareRatio,
  kRootMeanSquareStatus,
  kMaxRelativeRatio,
  kMaxRelativeStatus,
  kMeanRelativeRatio,
  kMeanRelativeStatus,
  kBalanceRatio,
  kBalanceStatus,
  kInfNanRate,
  kInfNanStatus,
  kRelativeRate,
  kRelativeStatus,
  kAbsoluteRate,
  kAbsoluteStatus,
  kBinaryRate,
  kBinaryStatus,
  kUlpMean,
  kUlpShare,
  kUlpShareRatio,
  kUlpStatus,
  kThousandth,
  kThousandthStatus,
  kVerdict,
  kAlgorithm,
  kMessage,
};
inline constexpr std::size_t kDetailsColumnCount = 28;

inline constexpr std::array<std::string_view, kDetailsColumnCount> kDetailsHeadings = {"API Name",
                                                                                       "小值域错误比值",
                                                                                       "小值域判定结果",
                                                                                       "均方根误差比值",
                                                                                       "均方根误差判定结果",
                                                                                       "相对误差最大值比值",
                                                                                       "相对误差最大值判定结果",
                                                                                       "相对误差平均值比值",
                                                                                       "相对误差平均值判定结果",
                                                                                       "误差均衡性比值",
                                                                                       "误差均衡性判定结果",
                                                                                       "inf/nan错误率",
                                                                                       "inf/nan判定结果",
                                                                                       "相对误差错误率",
                                                                                       "相对误差判定结果",
                                                                                       "绝对误差错误率",
                                                                                       "绝对误差判定结果",
                                                                                       "二进制一致错误率",
                                                                                       "二进制一致错误率判定结果",
                                                                                       "ULP误差平均值",
                                                                                       "ULP误差大于阈值占比",
                                                                                       "ULP误差大于阈值占比比值",
                                                                                       "ULP误差判定结果",
                                                                                       "双千指标",
                                                                                       "双千指标判定结果",
                                                                                       "比对结果",
                                                                                       "比对算法",
                                                                                       "Message"};

/// Columns of api_precision_compare_result.
inline constexpr std::array<std::string_view, 4> kResultHeadings = {"API Name", "Forward Test Success",
                                                                    "Backward Test Success", "Message"};

}  // namespace msprobe
