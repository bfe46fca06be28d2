#include "replay/api_traits.h"

#include <algorithm>
#include <array>

namespace msprobe {
namespace {

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 12> kDropout = {"_npu_dropout",
                                                       "alpha_dropout",
                                                       "alpha_dropout_",
                                                       "dropout",
                                                       "dropout1d",
                                                       "dropout2d",
                                                       "dropout3d",
                                                       "dropout_",
                                                       "feature_alpha_dropout",
                                                       "feature_alpha_dropout_",
                                                       "feature_dropout",
                                                       "feature_dropout_"};

constexpr std::array<std::string_view, 28> kRandom = {"bernoulli",
                                                      "bernoulli_",
                                                      "binomial",
                                                      "cauchy_",
                                                      "exponential_",
                                                      "fractional_max_pool2d",
                                                      "fractional_max_pool2d_with_indices",
                                                      "fractional_max_pool3d",
                                                      "fractional_max_pool3d_with_indices",
                                                      "geometric_",
                                                      "gumbel_softmax",
                                                      "log_normal_",
                                                      "multinomial",
                                                      "normal",
                                                      "normal_",
                                                      "npu_dropout_with_add_softmax",
                                                      "npu_sim_exponential_",
                                                      "poisson",
                                                      "rand",
                                                      "rand_like",
                                                      "randint",
                                                      "randint_like",
                                                      "randn",
                                                      "randn_like",
                                                      "random_",
                                                      "randperm",
                                                      "rrelu_with_noise",
                                                      "uniform_"};

constexpr std::array<std::string_view, 9> kUninitialised = {
    "empty",     "empty_like",        "empty_strided", "empty_with_format", "empty_with_swapped_memory",
    "new_empty", "new_empty_strided", "resize_",       "resize_as_"};

// Operators that PyTorch's autocast runs in the lower precision on every back end.
constexpr std::array<std::string_view, 26> kLowerPrecision = {"__matmul__",
                                                              "_convolution",
                                                              "addbmm",
                                                              "addmm",
                                                              "addmm_",
                                                              "addmv",
                                                              "addr",
                                                              "baddbmm",
                                                              "bmm",
                                                              "chain_matmul",
                                                              "conv1d",
                                                              "conv2d",
                                                              "conv3d",
                                                              "conv_tbc",
                                                              "conv_transpose1d",
                                                              "conv_transpose2d",
                                                              "conv_transpose3d",
                                                              "convolution",
                                                              "einsum",
                                                              "linalg.multi_dot",
                                                              "linear",
                                                              "matmul",
                                                              "mm",
                                                              "mv",
                                                              "prelu",
                                                              "scaled_dot_product_attention"};

}  // namespace

bool IsDropout(std::string_view api) { return Contains(kDropout, api); }
bool IsRandom(std::string_view api) { return Contains(kRandom, api); }
bool IsUninitialised(std::string_view api) { return Contains(kUninitialised, api); }

bool IsInPlace(std::string_view api) {
  if (api.starts_with("__") && api.ends_with("__")) {
    // The in-place operator methods are named after their operator with a leading i; __invert__ is not one of them.
    constexpr std::array<std::string_view, 15> kOperators = {
        "__iadd__", "__iand__", "__idiv__",    "__ifloordiv__", "__ilshift__",  "__imatmul__", "__imod__",   "__imul__",
        "__ior__",  "__ipow__", "__irshift__", "__isub__",      "__itruediv__", "__ixor__",    "__setitem__"};
    return Contains(kOperators, api);
  }
  return api.ends_with("_");
}

std::optional<UpdatedStatistics> StatisticsUpdatedBy(std::string_view api) {
  if (api == "batch_norm") return UpdatedStatistics{1, 5, "running_mean", "running_var", "training", false};
  if (api == "instance_norm") return UpdatedStatistics{1, 5, "running_mean", "running_var", "use_input_stats", true};
  if (api == "native_batch_norm") return UpdatedStatistics{3, 5, "running_mean", "running_var", "training", false};
  return std::nullopt;
}

bool UsesHf32(std::string_view api) { return api == "conv1d" || api == "conv2d"; }
bool IsAutocastToLowerPrecision(std::string_view api) { return Contains(kLowerPrecision, api); }
bool HasNoBackward(std::string_view api) { return api == "repeat_interleave"; }

bool ReplacesStorage(std::string_view api) { return api == "resize_" || api == "resize_as_" || api == "set_"; }

std::optional<int> ComparedOutput(std::string_view api) {
  if (api == "npu_fusion_attention") return 0;
  return std::nullopt;
}

std::optional<int> GradientOutput(std::string_view api) {
  if (api == "topk" || api == "npu_fusion_attention") return 0;
  return std::nullopt;
}

}  // namespace msprobe
