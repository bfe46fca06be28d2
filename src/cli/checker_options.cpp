#include "cli/checker_options.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/size_text.h"

namespace msprobe {
namespace {

constexpr std::int64_t kMaxWorkers = 64;
constexpr std::size_t kDefaultWorkers = 8;

Error Usage(std::string message) { return Error{ErrorCode::kUsage, std::move(message)}; }

std::string Quoted(std::string_view text) { return "'" + Excerpt(text) + "'"; }

/// A dotted Python module name.
bool IsModuleName(std::string_view name) {
  for (const std::string_view part : Split(name, '.')) {
    const bool starts_well = !part.empty() && (part[0] < '0' || part[0] > '9');
    const bool is_word = std::all_of(part.begin(), part.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
    });
    if (!starts_well || !is_word) return false;
  }
  return true;
}

Result<std::vector<std::int64_t>> ReadDevices(const ParsedOptions& parsed) {
  std::vector<std::int64_t> ids;
  for (const std::string& text : parsed.Values("-d")) {
    const auto id = ParseInteger(text);
    if (!id) return Usage("option -d needs device numbers, not " + Quoted(text));
    if (*id < 0) return Usage("option -d: a device number cannot be negative: " + text);
    if (std::find(ids.begin(), ids.end(), *id) != ids.end()) return Usage("option -d names device " + text + " twice");
    ids.push_back(*id);
  }
  if (ids.empty()) ids.push_back(0);
  return ids;
}

Result<std::size_t> ReadWorkers(const ParsedOptions& parsed) {
  if (!parsed.Has("-n")) return kDefaultWorkers;
  const auto count = ParseInteger(parsed.Value("-n"));
  if (!count || *count < 1 || *count > kMaxWorkers) {
    return Usage("option -n needs a number from 1 to 64, not " + Quoted(parsed.Value("-n")));
  }
  return static_cast<std::size_t>(*count);
}

Status ReadImports(const ParsedOptions& parsed, CheckerOptions& options) {
  options.imports = parsed.Values("--import");
  if (const char* variable = ::getenv("MSPROBE_IMPORT"); variable != nullptr) {
    for (const std::string_view name : Split(variable, ',')) {
      if (!Trim(name).empty()) options.imports.emplace_back(Trim(name));
    }
  }
  std::vector<std::string> unique;
  for (const std::string& name : options.imports) {
    if (!IsModuleName(name)) return Usage("--import: " + Quoted(name) + " is not the name of a Python module");
    if (std::find(unique.begin(), unique.end(), name) == unique.end()) unique.push_back(name);
  }
  options.imports = std::move(unique);
  return {};
}

Status ReadNumbers(const ParsedOptions& parsed, CheckerOptions& options) {
  if (parsed.Has("--seed")) {
    const auto seed = ParseInteger(parsed.Value("--seed"));
    if (!seed || *seed < 0) {
      return Usage("--seed needs a whole number that is not negative, not " + Quoted(parsed.Value("--seed")));
    }
    options.seed = static_cast<std::uint64_t>(*seed);
  }
  if (parsed.Has("--timeout")) {
    constexpr double kYear = 365.0 * 24 * 3600;
    const auto seconds = ParseDouble(parsed.Value("--timeout"));
    if (!seconds || !(*seconds > 0.0) || *seconds > kYear) {
      return Usage("--timeout needs seconds, above 0 and at most a year, not " + Quoted(parsed.Value("--timeout")));
    }
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*seconds * 1000.0)));
  }
  if (const char* variable = ::getenv("MSPROBE_START_TIMEOUT"); variable != nullptr && *variable != '\0') {
    constexpr std::int64_t kDay = 24 * 3600;
    const auto seconds = ParseInteger(variable);
    if (!seconds || *seconds < 1 || *seconds > kDay) {
      return Usage("MSPROBE_START_TIMEOUT needs whole seconds from 1 to 86400, not " + Quoted(variable));
    }
    options.start_timeout = std::chrono::seconds(*seconds);
  }
  if (parsed.Has("--memory-limit")) {
    const auto bytes = ParseSize(parsed.Value("--memory-limit"));
    if (!bytes) {
      return Usage("--memory-limit needs a size such as 8G or 512M, not " + Quoted(parsed.Value("--memory-limit")));
    }
    options.memory_limit = *bytes;
  }
  return {};
}

Status ReadChoices(const ParsedOptions& parsed, CheckerOptions& options) {
  options.device_type = parsed.Value("--device-type");
  if (parsed.Has("--device-type") &&
      (!IsModuleName(options.device_type) || options.device_type.find('.') != std::string::npos)) {
    return Usage("--device-type needs a name such as npu, cuda or cpu, not " + Quoted(options.device_type));
  }
  auto fail_on = ReadFailOn(parsed);
  if (!fail_on) return fail_on.error();
  options.fail_on = *fail_on;
  return {};
}

OptionSpec Own(std::string name, Arity arity, std::string value_name, std::string help, bool repeatable = false) {
  OptionSpec option{{std::move(name)}, arity, std::move(value_name), std::move(help)};
  option.exact_name_only = true;
  option.repeatable = repeatable;
  return option;
}

}  // namespace

std::vector<OptionSpec> CheckerOptionTable(bool multi) {
  std::vector<OptionSpec> options;
  const auto add = [&options](std::vector<std::string> names, Arity arity, std::string value_name, std::string help) {
    options.push_back(OptionSpec{std::move(names), arity, std::move(value_name), std::move(help)});
  };
  add({"-api_info", "--api_info_file"}, Arity::kOne, "FILE", "the dump.json to check, collected with level L1 or mix");
  options.back().required = true;
  add({"-o", "--out_path"}, Arity::kOne, "DIR", "folder for the two CSV files, made if missing (default: ./)");
  add({"-save_error_data"}, Arity::kFlag, "",
      "save inputs and outputs of APIs that do not pass, into ut_error_data<stamp> below error_data_path");
  add({"-j", "--jit_compile"}, Arity::kFlag, "", "NPU: compile operators just in time");
  add({"-d", "--device"}, Arity::kOneOrMore, "ID",
      multi ? "devices to use, such as 0 1 2 3 (default: 0)" : "device to use (default: 0); the first one counts");
  add({"-csv_path", "--result_csv_path"}, Arity::kOne, "FILE",
      "accuracy_checking_result_<stamp>.csv of an interrupted run: continue it");
  add({"-f", "--filter_api"}, Arity::kFlag, "",
      "check only the first of calls whose arguments are the same but for their values");
  add({"-config", "--config_path"}, Arity::kOne, "FILE",
      "config.json whose section run_ut has white_list, black_list, error_data_path");
  if (multi) {
    add({"-n", "--num_splits"}, Arity::kOne, "N", "worker processes, 1 to 64, at most 8 for each device (default: 8)");
  }
  options.push_back(Own("--device-type", Arity::kOne, "NAME",
                        "npu, cuda, cpu or a plug-in's name (default: the accelerator that is there)"));
  options.push_back(Own("--only", Arity::kOneOrMore, "NAME",
                        "check these alone: Functional.linear.0, Functional.linear or linear", true));
  options.push_back(Own("--import", Arity::kOne, "MODULE",
                        "Python module to import in the workers, for back ends that plug in; may be repeated, also "
                        "MSPROBE_IMPORT=a,b",
                        true));
  options.push_back(
      Own("--seed", Arity::kOne, "N", "of the random inputs; equal seeds give equal inputs (default: 1234)"));
  options.push_back(Own("--timeout", Arity::kOne, "SECONDS", "limit for one API (default: 600)"));
  options.push_back(
      Own("--memory-limit", Arity::kOne, "SIZE", "resident memory of one worker, such as 8G (default: none)"));
  options.push_back(FailOnOption());
  options.push_back(
      Own("--python", Arity::kOne, "PROGRAM", "Python interpreter that has the framework and this package"));
  return options;
}

Result<CheckerOptions> ReadCheckerOptions(const ParsedOptions& parsed, bool multi) {
  CheckerOptions options;
  for (const char* name : {"-api_info", "-o", "-csv_path", "-config", "--python", "--only"}) {
    for (const std::string& value : parsed.Values(name)) {
      if (value.empty()) return Usage(std::string("option ") + name + " needs a value that is not empty");
    }
  }
  options.api_info = parsed.Value("-api_info");
  options.out_path = parsed.Value("-o", options.out_path);
  options.save_error_data = parsed.Has("-save_error_data");
  options.jit_compile = parsed.Has("-j");
  options.csv_path = parsed.Value("-csv_path");
  options.filter_api = parsed.Has("-f");
  options.config_path = parsed.Value("-config");
  options.python = parsed.Value("--python");
  options.only = parsed.Values("--only");
  auto devices = ReadDevices(parsed);
  if (!devices) return devices.error();
  options.device_ids = std::move(*devices);
  if (multi) {
    auto workers = ReadWorkers(parsed);
    if (!workers) return workers.error();
    options.workers = *workers;
  }
  for (const auto& read : {ReadImports, ReadNumbers, ReadChoices}) {
    if (Status status = read(parsed, options); !status) return status.error();
  }
  return options;
}

}  // namespace msprobe
