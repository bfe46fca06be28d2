#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/option_parser.h"

namespace msprobe {

/// --fail-on LEVEL: which findings end a command with exit code 3.
enum class FailOn : std::uint8_t { kNever, kError, kWarning, kSkip };

OptionSpec FailOnOption();
Result<FailOn> ReadFailOn(const ParsedOptions& parsed);

/// Whether findings of these numbers are what `level` asks for.
bool FailsOn(FailOn level, std::size_t errors, std::size_t warnings, std::size_t skipped);

}  // namespace msprobe
