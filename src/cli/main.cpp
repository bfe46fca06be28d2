#include <signal.h>

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"

int main(int argc, char** argv) {
  // A closed pipe behind stdout is an error of the write, not the end of a run that has hours behind it.
  ::signal(SIGPIPE, SIG_IGN);
  msprobe::Console console;
  return msprobe::RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console);
}
