#include "cli/compare_command.h"

#include "base/text.h"
#include "check/count_text.h"
#include "cli/fail_on.h"
#include "cli/package_settings.h"
#include "cli/python_finder.h"
#include "compare/compare.h"

namespace msprobe {
namespace {

constexpr const char* kDescription =
    "Judges an NPU by a GPU: takes the details CSV that run_ut wrote on each of them for the same dump, and judges "
    "every "
    "output with the algorithm that the precision standard gives its API.\n"
    "Writes api_precision_compare_result_<stamp>.csv (one row for each API) and "
    "api_precision_compare_details_<stamp>.csv (one row for each output).\n"
    "Without -npu or -gpu the files are looked for in the current folder, where exactly two details files of run_ut "
    "must "
    "lie; the .device files beside them say which is which.\n"
    "Exit code: 0 finished, whatever was found; 1 an input or the output cannot be used; 2 wrong usage; 3 what "
    "--fail-on "
    "asks for.";

constexpr const char* kExamples =
    "  msprobe -f pytorch api_precision_compare \\\n"
    "      -npu ./npu/accuracy_checking_details_20240101120000.csv \\\n"
    "      -gpu ./gpu/accuracy_checking_details_20240101130000.csv -o ./compared\n"
    "  msprobe -f pytorch api_precision_compare\n"
    "      both files lie in the current folder\n";

Result<int> RunCompare(const ParsedOptions& parsed, Console& console) {
  for (const char* name : {"-npu", "-gpu", "-o"}) {
    if (parsed.Has(name) && parsed.Value(name).empty()) {
      return Error{ErrorCode::kUsage, std::string("option ") + name + " needs a value that is not empty"};
    }
  }
  auto fail_on = ReadFailOn(parsed);
  if (!fail_on) return fail_on.error();
  auto settings = LoadPackageSettings(PackageDirBesideExecutable(), "");
  if (!settings) return settings.error();
  auto pair = FindDetailsFiles(parsed.Value("-npu"), parsed.Value("-gpu"), ".");
  if (!pair) return pair.error();
  if (!parsed.Has("-npu") || !parsed.Has("-gpu")) {
    console.Info("comparing " + pair->npu_csv + " (device) with " + pair->gpu_csv + " (benchmark)");
  }
  CompareOptions options;
  options.npu_csv = pair->npu_csv;
  options.gpu_csv = pair->gpu_csv;
  options.output_dir = parsed.Value("-o", ".");
  options.precision = settings->checker.precision;
  options.documented_only = parsed.Has("--documented-only");
  auto summary = CompareFiles(options);
  if (!summary) return summary.error();
  for (const std::string& warning : summary->warnings) console.Warning(warning);
  console.Info("result of each API: " + summary->result_path);
  console.Info("details of each output: " + summary->details_path);
  const std::size_t total = summary->pass + summary->warning + summary->error + summary->skip;
  console.Info(CountText(total, "API") + ": " + std::to_string(summary->pass) + " pass, " +
               std::to_string(summary->warning) + " warning, " + std::to_string(summary->error) + " error, " +
               std::to_string(summary->skip) + " SKIP");
  for (const CompareSummary::Finding& finding : summary->errors) {
    console.Info("in error: " + finding.name + (finding.reason.empty() ? "" : ": " + finding.reason));
  }
  if (summary->error > summary->errors.size()) {
    console.Info("and " + std::to_string(summary->error - summary->errors.size()) + " more in error");
  }
  return FailsOn(*fail_on, summary->error, summary->warning, summary->skip) ? kExitFailOn : kExitFinished;
}

}  // namespace

Command CompareCommand() {
  Command command;
  command.name = "api_precision_compare";
  command.summary = "judge the checker's results on an NPU by those on a GPU";
  command.usage = "msprobe -f pytorch api_precision_compare [-npu FILE] [-gpu FILE] [-o DIR] [options]";
  command.description = kDescription;
  command.examples = kExamples;
  command.options = {
      {{"-npu", "--npu_csv_path"}, Arity::kOne, "FILE", "accuracy_checking_details_<stamp>.csv of the NPU"},
      {{"-gpu", "--gpu_csv_path"}, Arity::kOne, "FILE", "accuracy_checking_details_<stamp>.csv of the GPU"},
      {{"-o", "--out_path"}, Arity::kOne, "DIR", "folder for the two CSV files, made if missing (default: ./)"},
  };
  OptionSpec documented{
      {"--documented-only"},
      Arity::kFlag,
      "",
      "judge by the letter of the documents: no error is softened because the benchmark fails as much"};
  documented.exact_name_only = true;
  command.options.push_back(std::move(documented));
  command.options.push_back(FailOnOption());
  command.run = RunCompare;
  return command;
}

}  // namespace msprobe
