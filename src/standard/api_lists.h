#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace msprobe {

// Membership tables of precision_standards.md 4.1: bare API names, sorted for binary search. The name of a torch
// sub-module function keeps its dots ("linalg.matmul"), so it is in none of them.

inline constexpr std::array<std::string_view, 30> kAbsoluteThresholdApis = {
    "__add__",    "__div__",     "__iadd__", "__idiv__", "__imul__", "__isub__",   "__mul__",     "__radd__",
    "__rmul__",   "__sub__",     "add",      "add_",     "div",      "div_",       "divide",      "divide_",
    "leaky_relu", "leaky_relu_", "mul",      "mul_",     "prelu",    "reciprocal", "reciprocal_", "rsqrt",
    "rsqrt_",     "rsub",        "square",   "square_",  "sub",      "sub_"};
static_assert(std::is_sorted(kAbsoluteThresholdApis.begin(), kAbsoluteThresholdApis.end()));

inline constexpr std::array<std::string_view, 61> kBinaryApis = {
    "abs",          "abs_",         "absolute",   "absolute_",   "argmin",        "bitwise_and",    "bitwise_and_",
    "broadcast_to", "ceil",         "ceil_",      "equal",       "fill_",         "flatten",        "floor",
    "floor_",       "gather",       "greater",    "greater_",    "greater_equal", "greater_equal_", "isfinite",
    "isnan",        "less",         "less_",      "less_equal",  "less_equal_",   "logical_and",    "logical_and_",
    "logical_not",  "logical_not_", "logical_or", "logical_or_", "masked_fill",   "masked_fill_",   "max_pool3d",
    "maximum",      "minimum",      "neg",        "neg_",        "nonzero",       "not_equal",      "not_equal_",
    "one_hot",      "pad",          "relu",       "reshape",     "round",         "round_",         "select",
    "sign",         "sign_",        "sort",       "tile",        "topk",          "transpose",      "transpose_",
    "tril",         "tril_",        "triu",       "triu_",       "type_as"};
static_assert(std::is_sorted(kBinaryApis.begin(), kBinaryApis.end()));

inline constexpr std::array<std::string_view, 17> kUlpApis = {
    "__matmul__",   "addbmm", "addbmm_", "addmm",  "addmm_", "baddbmm", "baddbmm_", "bilinear", "bmm",
    "chain_matmul", "hspmm",  "linear",  "matmul", "mm",     "mv",      "smm",      "sspaddmm"};
static_assert(std::is_sorted(kUlpApis.begin(), kUlpApis.end()));

inline constexpr std::array<std::string_view, 2> kThousandthApis = {"conv1d", "conv2d"};
static_assert(std::is_sorted(kThousandthApis.begin(), kThousandthApis.end()));

}  // namespace msprobe
