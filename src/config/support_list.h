#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// support_wrap_ops.yaml: category key ("functional", "tensor", "torch", ...) -> API names in file order.
struct SupportList {
  std::map<std::string, std::vector<std::string>, std::less<>> categories;

  bool Contains(std::string_view category, std::string_view name) const;
};

/// Reads the editable file; `path` empty: the compiled-in default (decisions 46). Errors name file, line and key.
Result<SupportList> LoadPyTorchSupportList(const std::string& path);

/// Names that white and black lists may hold: functional, tensor, torch, torch_npu (api_lists.md).
bool IsKnownCheckerName(const SupportList& list, std::string_view name);

/// Nearest known text by edit distance, "" when nothing is near. For "did you mean".
std::string Nearest(std::string_view text, const std::vector<std::string>& known);

}  // namespace msprobe
