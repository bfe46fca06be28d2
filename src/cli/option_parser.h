#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// How many values follow an option.
enum class Arity : std::uint8_t { kFlag, kOne, kOneOrMore };

/// One option of a command. The first name is the one used in messages and the key in ParsedOptions.
struct OptionSpec {
  std::vector<std::string> names;  ///< {"-o", "--out_path"}
  Arity arity = Arity::kOne;
  std::string value_name;  ///< shown in the help text, "DIR"
  std::string help;
  bool required = false;
  /// An option that the reference does not have: only its full name is accepted, never a prefix (decisions 22).
  bool exact_name_only = false;
  bool repeatable = false;  ///< values of repeated uses add up; else the last use wins
  bool positional = false;  ///< values without an option; its only name is the one in the help text, "DIR"
};

/// Values by the option's first name. A flag that was given has an empty list.
class ParsedOptions {
 public:
  bool help = false;

  bool Has(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// The last value, or `fallback` where the option was not given.
  std::string Value(std::string_view name, std::string_view fallback = "") const;
  std::vector<std::string> Values(std::string_view name) const;

  void Add(const OptionSpec& option, std::vector<std::string> values);

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// Parses as Python's argparse does, because users' scripts rely on it (accuracy_checker.md 1): options in any order;
/// unambiguous prefixes with one or two dashes; `--name=value`; a value attached to a one-letter option (`-oDIR`);
/// bundled flags (`-jf`); a value that starts with '-' only if it is a negative number or holds a blank; an option of
/// kOneOrMore takes all values up to the next option. Exact long names are accepted with the other number of dashes.
/// Values that follow no option go to the positional one, where the command has one.
/// Every failure is one line of kUsage, with the nearest option where one is near. `-h` and `--help` end the parsing.
Result<ParsedOptions> ParseOptions(const std::vector<OptionSpec>& options, std::span<const std::string> arguments);

/// Whether `token` is the full name of an option that takes a value.
bool TakesValue(const std::vector<OptionSpec>& options, std::string_view token);

}  // namespace msprobe
