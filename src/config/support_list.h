#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"  // Nearest, for "did you mean"
#include "config/dump_settings.h"

namespace msprobe {

/// support_wrap_ops.yaml and the overlay files on top of it: category key ("functional", "tensor", "torch", ...) -> API
/// names. An entry is a name ("relu", "linalg.norm"), a pattern whose last part holds '*' or '?' ("linalg.*"), or
/// either with a '-' in front, which takes away what the entries before it gave.
struct SupportList {
  /// Names that stand there as such, in file order, those taken away left out.
  std::map<std::string, std::vector<std::string>, std::less<>> categories;
  /// Patterns, and what is taken away behind them, in file order.
  std::map<std::string, std::vector<std::string>, std::less<>> patterns;

  /// Whether the name stands in the list as such. What a dump may call is asked for so: a pattern lets nothing be
  /// called.
  bool Contains(std::string_view category, std::string_view name) const;
  /// Whether the patterns give the name.
  bool IsGivenByPattern(std::string_view category, std::string_view name) const;

  /// The modules below the category's own whose names the patterns choose from: "" for the category's own, "linalg".
  std::vector<std::string> PatternModules(std::string_view category) const;
  /// All names of the category, those of `candidates` that patterns give behind the others.
  std::vector<std::string> Resolve(std::string_view category, const std::vector<std::string>& candidates) const;
};

/// Reads the framework's editable file; `path` empty: the compiled-in default (decisions 46); then the overlay files in
/// order. Errors name file, line and key. A repeated name counts once, of a category repeated in one file the last
/// counts.
Result<SupportList> LoadSupportList(Framework framework, const std::string& path,
                                    const std::vector<std::string>& overlays = {});

/// Overlay files: those of the configuration, then those of the environment variable MSPROBE_SUPPORT_LIST (separated by
/// ':'). Absolute paths; a file that cannot be used is an error.
Result<std::vector<std::string>> FindSupportOverlays(const std::vector<std::string>& configured);

/// Names that white and black lists may hold: functional, tensor, torch, torch_npu (api_lists.md).
bool IsKnownCheckerName(const SupportList& list, std::string_view name);

/// The known checker name nearest to a wrong one, "" when nothing is near. A name with its group or module in front
/// ("Functional.relu", "torch.relu") leads to the bare name.
std::string NearestCheckerName(const SupportList& list, std::string_view name);

}  // namespace msprobe
