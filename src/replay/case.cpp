#include "replay/case.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "check/api_name.h"
#include "replay/argument_planner.h"
#include "replay/precision_plan.h"

namespace msprobe {
namespace {

Error Skip(std::string message) { return Error{ErrorCode::kUnsupported, std::move(message)}; }

// The list is also what keeps a dump from calling anything it likes.
Result<std::string> ChooseFunction(const ApiName& api, const SupportList& names) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kCategories = {
      {{"Functional", "functional"}, {"Tensor", "tensor"}, {"Torch", "torch"}}};
  if (api.type == "NPU") return api.name;  // the registry of benchmark functions decides
  for (const auto& [type, category] : kCategories) {
    if (api.type != type) continue;
    if (names.Contains(category, api.name)) return api.name;
    // Newer dumps keep only the part behind the last dot: "linalg.matrix_norm" is recorded as "matrix_norm".
    const auto found = names.categories.find(category);
    std::string dotted;
    if (found != names.categories.end()) {
      for (const std::string& known : found->second) {
        if (!known.ends_with("." + api.name)) continue;
        if (!dotted.empty()) return Skip("\"" + Excerpt(api.name, 60) + "\" may be " + dotted + " or " + known);
        dotted = known;
      }
    }
    if (!dotted.empty()) return dotted;
    if (names.IsGivenByPattern(category, api.name)) {
      return Skip("only a pattern of the support list gives \"" + Excerpt(api.name, 60) +
                  "\"; what a dump may call has to stand there by its name");
    }
    return Skip("\"" + Excerpt(api.name, 60) + "\" is not in the list \"" + std::string(category) +
                "\" of support_wrap_ops.yaml");
  }
  return Skip("calls of kind \"" + Excerpt(api.type, 60) + "\" cannot be replayed");
}

const Argument* Keyword(const Case& plan, std::string_view name) {
  for (const KeywordArgument& keyword : plan.keywords) {
    if (keyword.name == name) return &keyword.value;
  }
  return nullptr;
}

bool HoldsOutArgument(const Case& plan) {
  const Argument* out = Keyword(plan, "out");
  return out != nullptr && out->kind != Argument::Kind::kNone;
}

void DropGradient(const Argument& argument, std::vector<TensorSpec>& tensors) {
  if (argument.kind == Argument::Kind::kTensor) tensors[argument.tensor].requires_grad = false;
  for (const Argument& item : argument.items) DropGradient(item, tensors);
}

Argument* At(Case& plan, std::size_t position, std::string_view name) {
  if (position < plan.positional.size()) return &plan.positional[position];
  for (KeywordArgument& keyword : plan.keywords) {
    if (keyword.name == name) return &keyword.value;
  }
  return nullptr;
}

// A probability inside a larger operator would make the two sides draw different elements, and everything behind them
// differ: the operator is replayed without it.
void RemoveDropout(Case& plan) {
  std::size_t position = 0;
  if (plan.api == "npu_fusion_attention") {
    Argument* keep = At(plan, plan.positional.size(), "keep_prob");
    if (keep == nullptr || keep->kind != Argument::Kind::kFloat || keep->number == 1 || keep->number == 0) return;
    keep->number = 1;
    plan.note = "replayed with keep_prob = 1";
    return;
  }
  if (plan.api == "scaled_dot_product_attention") {
    position = 4;
  } else if (plan.api == "multi_head_attention_forward") {
    position = 10;
  } else {
    return;
  }
  Argument* probability = At(plan, position, "dropout_p");
  if (probability == nullptr || probability->kind != Argument::Kind::kFloat || probability->number == 0) return;
  probability->number = 0;
  plan.note = "replayed with dropout_p = 0";
}

// In the sparse modes 2 to 4 the attention mask is a fixed triangle; random values would be another operator.
void FixAttentionMask(Case& plan) {
  if (plan.api != "npu_fusion_attention") return;
  constexpr std::int64_t kSize = 2048;
  const Argument* mode = Keyword(plan, "sparse_mode");
  const Argument* mask = Keyword(plan, "atten_mask");
  if (mode == nullptr || mode->kind != Argument::Kind::kInteger || mode->integer < 2 || mode->integer > 4) return;
  if (mask == nullptr || mask->kind != Argument::Kind::kTensor) return;
  TensorSpec& spec = plan.tensors[mask->tensor];
  if (spec.loaded != nullptr) return;
  spec.dtype = spec.bench_dtype = DType::kBool;
  spec.shape = {kSize, kSize};
  spec.strides.clear();
  spec.storage_offset = 0;
  spec.storage_count = kSize * kSize;
  spec.requires_grad = false;
  spec.strict_upper_triangle = true;
}

Treatment ChooseTreatment(Case& plan) {
  if (IsDropout(plan.api)) return Treatment::kDropout;
  if (IsRandom(plan.api)) return Treatment::kRandom;
  if (IsUninitialised(plan.api)) return Treatment::kUninitialised;
  if (plan.api == "rrelu" || plan.api == "rrelu_") {
    const Argument* training = At(plan, 3, "training");
    if (training != nullptr && training->kind == Argument::Kind::kBool && training->boolean) return Treatment::kRandom;
  }
  return Treatment::kValues;
}

bool ChangesItsArgument(const Case& plan) {
  const Argument* keyword = Keyword(plan, "inplace");
  return IsInPlace(plan.api) || (keyword != nullptr && keyword->kind == Argument::Kind::kBool && keyword->boolean);
}

void FindUpdatedTensors(Case& plan) {
  const auto statistics = StatisticsUpdatedBy(plan.api);
  if (!statistics) return;
  const Argument* training = At(plan, static_cast<std::size_t>(statistics->training), statistics->training_name);
  const bool given = training != nullptr && training->kind == Argument::Kind::kBool;
  if (!(given ? training->boolean : statistics->training_default)) return;
  const auto mean = static_cast<std::size_t>(statistics->mean);
  for (const Argument* argument :
       {At(plan, mean, statistics->mean_name), At(plan, mean + 1, statistics->variance_name)}) {
    if (argument != nullptr && argument->kind == Argument::Kind::kTensor) plan.updated.push_back(argument->tensor);
  }
}

void PlanBackward(const CaseRequest& request, const TensorContext& context, Case& plan) {
  if (HoldsOutArgument(plan)) {
    DropGradient(*Keyword(plan, "out"), plan.tensors);
    plan.backward.skip_reason = "a call with out= has no backward";
    return;
  }
  if (HasNoBackward(plan.api)) {
    plan.backward.skip_reason = "the backward of " + plan.api + " is not compared";
    return;
  }
  if (!request.backward.has_value()) return;
  if (ReplacesStorage(plan.api)) {
    plan.backward.skip_reason = plan.api + " has no backward";
    return;
  }
  if (std::none_of(plan.tensors.begin(), plan.tensors.end(),
                   [](const TensorSpec& spec) { return spec.requires_grad; })) {
    plan.backward.skip_reason = "no recorded argument requires a gradient";
    return;
  }
  auto gradient = PlanGradient(*request.backward, context);
  if (!gradient.ok()) {
    plan.backward.skip_reason = gradient.error().message;
    return;
  }
  RaiseGradient(plan.api, gradient.value());
  gradient.value().requires_grad = false;
  plan.backward.gradient = std::move(gradient.value());
  plan.backward.output = GradientOutput(plan.api);
  plan.backward.run = true;
}

}  // namespace

Result<Case> PlanCase(const CaseRequest& request, const ReplaySettings& settings) {
  if (!request.problem.empty()) return Skip(request.problem);
  const auto name = ParseApiName(request.name);
  if (!name) return Skip("the name is not of the form type.api.number");
  auto function = ChooseFunction(*name, settings.names);
  if (!function.ok()) return function.error();

  Case plan;
  plan.index = request.index;
  plan.name = request.name;
  plan.kind = name->type;
  plan.api = name->name;
  plan.function = std::move(function.value());
  plan.seed = static_cast<std::uint32_t>(RandomKey(settings.seed, request.name, "generators"));

  const TensorContext context{&settings, plan.name, plan.api};
  auto call = PlanArguments(request.forward, context);
  if (!call.ok()) return call.error();
  plan.autocast = PlanPrecision(plan.api, request.forward, call.value());
  plan.positional = std::move(call.value().positional);
  plan.keywords = std::move(call.value().keywords);
  plan.tensors = std::move(call.value().tensors);
  RemoveDropout(plan);
  FixAttentionMask(plan);
  plan.treatment = ChooseTreatment(plan);
  plan.in_place = ChangesItsArgument(plan);
  FindUpdatedTensors(plan);
  PlanBackward(request, context, plan);
  return plan;
}

}  // namespace msprobe
