#include "config/scope.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/format.h"
#include "base/text.h"
#include "config/json_document.h"
#include "config/record_name.h"

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 10> kPyTorchPrefixes = {
    "Functional", "Tensor", "Torch", "NPU", "VF", "Aten", "Distributed", "MindSpeed", "Triton", "Jit"};
constexpr std::array<std::string_view, 8> kMindSporePrefixes = {
    "Tensor", "Functional", "Mint", "MintFunctional", "Primitive", "Jit", "Distributed", "MintDistributed"};

bool IsKnownPrefix(std::string_view name, Framework framework) {
  const std::string_view prefix = name.substr(0, name.find('.'));
  const std::span<const std::string_view> known =
      framework == Framework::kPyTorch ? std::span<const std::string_view>(kPyTorchPrefixes) : kMindSporePrefixes;
  return std::find(known.begin(), known.end(), prefix) != known.end();
}

constexpr std::string_view kApiForm = "an API call such as \"Tensor.add.0.forward\"";
constexpr std::string_view kModuleForm = "a module such as \"Module.layer.Linear.forward.0\"";

}  // namespace

Result<std::vector<std::string>> CheckScope(std::vector<std::string> names, Level level, Framework framework,
                                            const std::string& place, std::vector<std::string>& warnings) {
  const auto bad = [&](const std::string& problem) { return Error{ErrorCode::kInput, place + " " + problem}; };
  if (names.empty() || level == Level::kDebug) return std::vector<std::string>();
  if (names.size() > 2)
    return bad(fmt::format("has {} names; it must be empty or name the first and last record", names.size()));
  // The kernels of MindSpore's level L2 are chosen by `list` alone.
  const bool kernels = level == Level::kL2 && framework == Framework::kMindSpore;
  for (const std::string& name : names) {
    const NameKind kind = ParseNameParts(name).kind;
    if (kernels) continue;
    const bool fits = level == Level::kMix  ? kind == NameKind::kApi || kind == NameKind::kModule
                      : level == Level::kL0 ? kind == NameKind::kModule
                                            : kind == NameKind::kApi;
    if (!fits) {
      const std::string wanted = level == Level::kMix  ? fmt::format("{} or {}", kApiForm, kModuleForm)
                                 : level == Level::kL0 ? std::string(kModuleForm)
                                                       : std::string(kApiForm);
      return bad(fmt::format("holds \"{}\"; at this level it must be the whole record name of {}", Excerpt(name, 120),
                             wanted));
    }
    if (kind == NameKind::kApi && !IsKnownPrefix(name, framework)) {
      warnings.push_back(fmt::format("{} holds \"{}\": the first part of this name is not a known group of APIs", place,
                                     Excerpt(name, 120)));
    }
  }
  if (names.size() == 1) names.push_back(names.front());
  return names;
}

}  // namespace msprobe
