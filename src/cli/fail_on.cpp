#include "cli/fail_on.h"

#include "base/text.h"

namespace msprobe {
namespace {

constexpr const char* kName = "--fail-on";

}  // namespace

OptionSpec FailOnOption() {
  OptionSpec option{
      {kName},
      Arity::kOne,
      "LEVEL",
      "exit with 3 if an API ends in error (error), in error or warning (warning), or is not pass (skip)"};
  option.exact_name_only = true;
  return option;
}

Result<FailOn> ReadFailOn(const ParsedOptions& parsed) {
  if (!parsed.Has(kName)) return FailOn::kNever;
  const std::string level = parsed.Value(kName);
  if (level == "error") return FailOn::kError;
  if (level == "warning") return FailOn::kWarning;
  if (level == "skip") return FailOn::kSkip;
  return Error{ErrorCode::kUsage, "--fail-on takes error, warning or skip, not '" + Excerpt(level) + "'"};
}

bool FailsOn(FailOn level, std::size_t errors, std::size_t warnings, std::size_t skipped) {
  return (level >= FailOn::kError && errors > 0) || (level >= FailOn::kWarning && warnings > 0) ||
         (level >= FailOn::kSkip && skipped > 0);
}

}  // namespace msprobe
