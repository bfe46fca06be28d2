#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace msprobe {

/// How the outputs of an API are compared.
enum class Treatment : std::uint8_t {
  kValues,
  kDropout,        ///< by the share of zeros (accuracy_checker.md 11.1 rule 1, decisions 26)
  kRandom,         ///< random by definition: by dtype and shape
  kUninitialised,  ///< holds whatever the memory held: by dtype and shape
};

/// Names are matched exactly (decisions 26), all without kind and count: "conv2d", "linalg.norm".
bool IsDropout(std::string_view api);
bool IsRandom(std::string_view api);
bool IsUninitialised(std::string_view api);

/// Names that change their first argument: "add_", "__iadd__", "__setitem__".
bool IsInPlace(std::string_view api);

/// Arguments that an API updates although its name does not say so, and autograd does not count: the running statistics
/// of normalisations. Nothing for other APIs.
struct UpdatedStatistics {
  int mean;      ///< position; the variance follows
  int training;  ///< position of the flag that turns the update on
  std::string_view mean_name;
  std::string_view variance_name;
  std::string_view training_name;
  bool training_default;
};
std::optional<UpdatedStatistics> StatisticsUpdatedBy(std::string_view api);

/// Inputs are rounded to HF32 and float32 is not raised (accuracy_checker.md 7.5, 8.1).
bool UsesHf32(std::string_view api);

/// APIs whose float inputs autocast brings to the lower precision: the matrix products and convolutions.
bool IsAutocastToLowerPrecision(std::string_view api);

/// APIs for which no gradient is compared (accuracy_checker.md 10).
bool HasNoBackward(std::string_view api);

/// Calls that fail on a tensor that requires a gradient, because they give it other memory.
bool ReplacesStorage(std::string_view api);

/// The only one of several outputs that is looked at (accuracy_checker.md 9).
std::optional<int> ComparedOutput(std::string_view api);

/// Which of several outputs is differentiated (accuracy_checker.md 10).
std::optional<int> GradientOutput(std::string_view api);

}  // namespace msprobe
