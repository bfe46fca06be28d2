#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"  // Nearest, for "did you mean"

namespace msprobe {

/// support_wrap_ops.yaml: category key ("functional", "tensor", "torch", ...) -> API names in file order.
struct SupportList {
  std::map<std::string, std::vector<std::string>, std::less<>> categories;

  bool Contains(std::string_view category, std::string_view name) const;
};

/// Reads the editable file; `path` empty: the compiled-in default (decisions 46). Errors name file, line and key. A
/// repeated name counts once, of a repeated category the last counts.
Result<SupportList> LoadPyTorchSupportList(const std::string& path);

/// Names that white and black lists may hold: functional, tensor, torch, torch_npu (api_lists.md).
bool IsKnownCheckerName(const SupportList& list, std::string_view name);

/// The known checker name nearest to a wrong one, "" when nothing is near. A name with its group or module in front
/// ("Functional.relu", "torch.relu") leads to the bare name.
std::string NearestCheckerName(const SupportList& list, std::string_view name);

}  // namespace msprobe
