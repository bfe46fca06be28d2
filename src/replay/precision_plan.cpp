#include "replay/precision_plan.h"

#include "replay/api_traits.h"

namespace msprobe {
namespace {

// Which of the three dtypes that are raised occur.
struct FloatDTypes {
  bool float16 = false;
  bool bfloat16 = false;
  bool float32 = false;

  void Add(DType dtype) {
    float16 = float16 || dtype == DType::kFloat16;
    bfloat16 = bfloat16 || dtype == DType::kBFloat16;
    float32 = float32 || dtype == DType::kFloat32;
  }
  int count() const { return int{float16} + int{bfloat16} + int{float32}; }

  // One kind is raised to the next wider dtype, a mixture to float32.
  std::optional<DType> Raised() const {
    if (count() == 0) return std::nullopt;
    return count() == 1 && float32 ? DType::kFloat64 : DType::kFloat32;
  }
};

void Raise(std::string_view api, std::optional<DType> raised, TensorSpec& spec) {
  spec.bench_dtype = spec.dtype;
  if (api == "type_as") return;
  if (IsFloat8(spec.dtype)) {
    spec.bench_dtype = DType::kFloat32;  // no arithmetic on the CPU below that
    return;
  }
  const bool is_raised = spec.dtype == DType::kFloat16 || spec.dtype == DType::kBFloat16 ||
                         (spec.dtype == DType::kFloat32 && !UsesHf32(api));
  if (is_raised && raised.has_value()) spec.bench_dtype = *raised;
}

void RaiseKeyword(std::optional<DType> raised, CallArguments& call) {
  if (!raised.has_value()) return;
  for (KeywordArgument& keyword : call.keywords) {
    if (keyword.name != "dtype" || keyword.value.kind != Argument::Kind::kDType) continue;
    const auto dtype = ParseDType(keyword.value.text);
    const bool lower = dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32;
    if (lower) keyword.value.bench_text = ShortName(*raised);
  }
}

std::optional<DType> FirstOutputDType(const Record& forward) {
  const Element* output = forward.Section("output");
  while (output != nullptr && output->list() != nullptr) {
    output = output->list()->empty() ? nullptr : &output->list()->front();
  }
  const TensorElement* tensor = output == nullptr ? nullptr : output->tensor();
  return tensor == nullptr ? std::nullopt : ParseDType(tensor->dtype);
}

std::optional<DType> ChooseAutocast(std::string_view api, const Record& forward, const FloatDTypes& kinds,
                                    const CallArguments& call) {
  if (api == "type_as") return std::nullopt;
  if (kinds.count() >= 2) return kinds.bfloat16 ? DType::kBFloat16 : DType::kFloat16;
  for (const KeywordArgument& keyword : call.keywords) {
    if (keyword.name == "dtype" || keyword.name == "out") return std::nullopt;
  }
  if (kinds.count() != 1 || !kinds.float32 || !IsAutocastToLowerPrecision(api)) return std::nullopt;
  const auto output = FirstOutputDType(forward);
  if (output == DType::kFloat16 || output == DType::kBFloat16) return output;
  return std::nullopt;
}

}  // namespace

std::optional<DType> PlanPrecision(std::string_view api, const Record& forward, CallArguments& call) {
  FloatDTypes kinds;
  for (const TensorSpec& spec : call.tensors) kinds.Add(spec.dtype);
  for (TensorSpec& spec : call.tensors) Raise(api, kinds.Raised(), spec);
  if (api != "type_as") RaiseKeyword(kinds.Raised(), call);
  const auto autocast = ChooseAutocast(api, forward, kinds, call);
  if (autocast.has_value() && IsAutocastToLowerPrecision(api)) {
    const InputRounding rounding = *autocast == DType::kFloat16 ? InputRounding::kFloat16 : InputRounding::kBFloat16;
    for (TensorSpec& spec : call.tensors) {
      if (spec.dtype == DType::kFloat32) spec.rounding = rounding;
    }
  }
  return autocast;
}

void RaiseGradient(std::string_view api, TensorSpec& gradient) {
  FloatDTypes kinds;
  kinds.Add(gradient.dtype);
  Raise(api, kinds.Raised(), gradient);
}

}  // namespace msprobe
