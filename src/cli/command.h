#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "cli/option_parser.h"

namespace msprobe {

/// Exit codes (decisions 21).
inline constexpr int kExitFinished = 0;
inline constexpr int kExitUnusable = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitFailOn = 3;
inline constexpr int kExitSignal = 128;  ///< plus the signal's number: 130 for Ctrl-C

/// One row of the command table.
struct Command {
  std::string name;
  std::string summary;      ///< one line for `msprobe --help`
  std::string usage;        ///< what follows "usage: "
  std::string description;  ///< what it does, for its own --help
  std::string examples;
  std::vector<OptionSpec> options;
  bool any_framework = false;  ///< else PyTorch only
  /// Returns the exit code of a run that came to its end; an error is printed by the caller, as one line.
  std::function<Result<int>(const ParsedOptions&, Console&)> run;
};

const std::vector<Command>& CommandTable();

/// The whole command line: finds the command, parses, runs. Returns the exit code.
int RunCommandLine(const std::vector<std::string>& arguments, Console& console);

}  // namespace msprobe
