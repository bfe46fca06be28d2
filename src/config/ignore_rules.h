#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text_hash.h"

namespace msprobe {

/// Arguments or outputs of a call that hold no meaningful data, such as the buffer that a receive fills.
struct IgnoredParts {
  bool all = false;
  std::vector<std::int64_t> positions;
  std::vector<std::string> keywords;

  bool Has(std::int64_t position) const;
  bool Has(std::string_view keyword) const;
  bool empty() const { return !all && positions.empty() && keywords.empty(); }
};

/// The record is kept, its forward parts named here are null (pytorch_dump.md 13.2).
struct IgnoreRule {
  IgnoredParts input;
  IgnoredParts output;
};

/// builtin_ignore_ops.yaml: group -> API -> `input` and `output`: a list of positions and keywords, or `all`.
class IgnoreRules {
 public:
  /// `path` empty: the compiled-in default. Errors name file, line and key.
  static Result<IgnoreRules> Load(const std::string& path);

  /// The rule of "Distributed.recv", null if there is none.
  const IgnoreRule* Find(std::string_view api) const;

 private:
  TextMap<IgnoreRule> rules_;
};

}  // namespace msprobe
