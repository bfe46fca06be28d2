#include "cli/checker_options.h"
#include "cli/checker_run.h"
#include "cli/command.h"
#include "cli/compare_command.h"
#include "cli/recover_command.h"

namespace msprobe {
namespace {

constexpr const char* kCheckerDescription =
    "Checks offline every PyTorch API call of a dump: rebuilds its arguments, calls it on the device and on the CPU in "
    "raised precision, forward and backward, and compares all outputs and input gradients.\n"
    "Writes accuracy_checking_result_<stamp>.csv (one row for each API: pass, warning, error or SKIP) and "
    "accuracy_checking_details_<stamp>.csv (one row for each output, with the metrics).\n"
    "Exit code: 0 finished, whatever was found; 1 an input, the device or an output cannot be used; 2 wrong usage; 3 "
    "what "
    "--fail-on asks for; 130 Ctrl-C.";

Command CheckerCommand(const std::string& name, bool multi) {
  Command command;
  command.name = name;
  command.usage = "msprobe -f pytorch " + name + " -api_info FILE [-o DIR] " +
                  (multi ? "[-n N] [-d ID ...]" : "[-d ID]") + " [options]";
  command.description = kCheckerDescription;
  command.options = CheckerOptionTable(multi);
  const std::string start = "  msprobe -f pytorch " + name + " -api_info ./dump.json";
  if (multi) {
    command.summary = "check every API of a dump with several worker processes";
    command.examples =
        start + " -n 32 -d 0 1 2 3\n      32 workers on four devices\n" + start +
        " \\\n      -csv_path ./accuracy_checking_result_20240101120000.csv\n      continue a run that was "
        "interrupted\n" +
        start + " -save_error_data -o ./out\n      save the tensors of what does not pass\n";
  } else {
    command.summary = "check every API of a dump, one after the other";
    command.examples =
        start + "\n      check all of it on device 0\n" + start +
        " --only Functional.linear.0 -save_error_data\n      one call alone, with its tensors\n" + start +
        " \\\n      -csv_path ./accuracy_checking_result_20240101120000.csv\n      continue a run that was "
        "interrupted\n" +
        start + " --fail-on error\n      for scripts: exit code 3 if an API is in error\n";
  }
  command.run = [multi](const ParsedOptions& parsed, Console& console) -> Result<int> {
    auto options = ReadCheckerOptions(parsed, multi);
    if (!options) return options.error();
    return RunChecker(*options, console);
  };
  return command;
}

Command Alias(Command command, const std::string& original) {
  command.summary = "the same as " + original + ", by its newer name";
  return command;
}

}  // namespace

const std::vector<Command>& CommandTable() {
  static const std::vector<Command> table = {
      CheckerCommand("run_ut", false),
      CheckerCommand("multi_run_ut", true),
      CompareCommand(),
      RecoverCommand(),
      Alias(CheckerCommand("acc_check", false), "run_ut"),
      Alias(CheckerCommand("multi_acc_check", true), "multi_run_ut"),
  };
  return table;
}

}  // namespace msprobe
