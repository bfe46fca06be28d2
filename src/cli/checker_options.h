#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/fail_on.h"
#include "cli/option_parser.h"

namespace msprobe {

/// The options of run_ut and multi_run_ut, validated.
struct CheckerOptions {
  std::string api_info;
  std::string out_path = "./";
  bool save_error_data = false;
  bool jit_compile = false;
  std::vector<std::int64_t> device_ids{0};
  std::string csv_path;  ///< "": a new run
  bool filter_api = false;
  std::string config_path;
  std::size_t workers = 1;
  std::string device_type;
  std::string python;
  std::vector<std::string> imports;
  std::uint64_t seed = 1234;
  std::chrono::milliseconds timeout{600'000};
  std::chrono::seconds start_timeout{300};  ///< for a Python process to be ready
  std::uint64_t memory_limit = 0;           ///< bytes, 0: none
  std::vector<std::string> only;
  FailOn fail_on = FailOn::kNever;
};

/// The option table; `multi` adds -n.
std::vector<OptionSpec> CheckerOptionTable(bool multi);

/// Reads and validates the values; MSPROBE_IMPORT adds modules to --import,
/// MSPROBE_START_TIMEOUT sets start_timeout. Errors are of kUsage, one line.
Result<CheckerOptions> ReadCheckerOptions(const ParsedOptions& parsed, bool multi);

}  // namespace msprobe
