#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cli/command.h"
#include "cli/help_text.h"
#include "cli/other_installation.h"

namespace msprobe {
namespace {

/// Commands of the reference that this tool does not have (decisions 25).
constexpr std::string_view kForeignCommands[] = {"compare",         "parse",        "run_overflow_check",
                                                 "merge_result",    "config_check", "overflow_check",
                                                 "graph_visualize", "code_mapping"};

/// The command line taken apart: what stands before the command is searched for the framework, the rest belongs to the
/// command.
struct Invocation {
  const Command* command = nullptr;
  std::optional<std::string> framework;
  std::vector<std::string> options;
  bool help = false;
  bool version = false;
  std::string error;
};

const Command* FindCommand(std::string_view name) {
  for (const Command& command : CommandTable()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

/// Whether `token` is an option of some command that a value follows.
bool IsValueOption(std::string_view token) {
  return std::any_of(CommandTable().begin(), CommandTable().end(),
                     [&](const Command& command) { return TakesValue(command.options, token); });
}

/// -f NAME, -fNAME, -f=NAME, --framework NAME, --framework=NAME and prefixes of it. Moves `i` over what it takes.
bool TakeFramework(const std::vector<std::string>& arguments, std::size_t& i, Invocation& invocation) {
  const std::string& token = arguments[i];
  const auto equals = token.find('=');
  const std::string name = token.substr(0, equals);
  const bool is_long = name.size() > 2 && std::string_view("--framework").starts_with(name);
  std::string value;
  if (name == "-f" || is_long) {
    if (equals != std::string::npos) {
      value = token.substr(equals + 1);
    } else if (i + 1 < arguments.size() && FindCommand(arguments[i + 1]) == nullptr &&
               !arguments[i + 1].starts_with('-')) {
      value = arguments[++i];
    } else {
      invocation.error = "option " + name + " needs the framework: -f pytorch";
      return true;
    }
  } else if (token.starts_with("-f") && !token.starts_with("--")) {
    value = token.substr(2);
  } else {
    return false;
  }
  if (value != "pytorch" && value != "mindspore") {
    invocation.error = "unknown framework '" + Excerpt(value) + "': it is pytorch or mindspore";
  }
  invocation.framework = std::move(value);
  return true;
}

std::string UnknownCommand(const std::string& token) {
  if (std::find(std::begin(kForeignCommands), std::end(kForeignCommands), token) != std::end(kForeignCommands)) {
    return "the command '" + token + "' of the reference is not part of this tool; msprobe --help lists what is";
  }
  std::vector<std::string> names;
  for (const Command& command : CommandTable()) names.push_back(command.name);
  const std::string near = Nearest(token, names);
  return "unknown command '" + Excerpt(token) + "'" +
         (near.empty() ? "; msprobe --help lists the commands" : "; did you mean '" + near + "'?");
}

Invocation TakeApart(const std::vector<std::string>& arguments) {
  Invocation invocation;
  for (std::size_t i = 0; i < arguments.size() && invocation.error.empty(); ++i) {
    const std::string& token = arguments[i];
    if (TakeFramework(arguments, i, invocation)) continue;
    if (token == "-h" || token == "--help") {
      invocation.help = true;
      return invocation;
    }
    if (token == "--version") {
      invocation.version = true;
      return invocation;
    }
    const bool is_value = !invocation.options.empty() && IsValueOption(invocation.options.back());
    if (token.starts_with('-') || is_value) {
      // An option of the command that stands before it, or the value of one.
      invocation.options.push_back(token);
      continue;
    }
    invocation.command = FindCommand(token);
    if (invocation.command == nullptr && invocation.options.empty()) {
      invocation.error = UnknownCommand(token);
      return invocation;
    }
    if (invocation.command == nullptr) {
      invocation.options.push_back(token);
      continue;
    }
    invocation.options.insert(invocation.options.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                              arguments.end());
    return invocation;
  }
  if (invocation.error.empty()) {
    invocation.error = "no command was given; the commands are " + [] {
      std::vector<std::string> names;
      for (const Command& command : CommandTable()) names.push_back(command.name);
      return Join(names, ", ");
    }();
  }
  return invocation;
}

int UsageError(Console& console, const std::string& usage, const std::string& program, const std::string& message) {
  console.ErrorLine(usage);
  console.ErrorLine(program + ": error: " + Printable(message));
  return kExitUsage;
}

/// The message for an option that is unknown to this command but known to another one; "" if there is none.
std::string OtherCommand(const Command& command, const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    const std::string name = token.substr(0, token.find('='));
    const auto has = [&](const Command& other) {
      return std::any_of(other.options.begin(), other.options.end(), [&](const OptionSpec& option) {
        return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
      });
    };
    if (has(command)) continue;
    for (const Command& other : CommandTable()) {
      if (has(other)) return "unknown option '" + name + "': it is an option of " + other.name;
    }
  }
  return "";
}

int RunCommand(const Command& command, const Invocation& invocation, Console& console) {
  const std::string program = "msprobe " + command.name;
  if (!command.any_framework && invocation.framework.value_or("pytorch") == "mindspore") {
    return UsageError(console, CommandUsage(command), program, command.name + " is for PyTorch only: use -f pytorch");
  }
  auto parsed = ParseOptions(command.options, invocation.options);
  if (!parsed) {
    const std::string& message = parsed.error().message;
    const std::string other = message.starts_with("unknown option") ? OtherCommand(command, invocation.options) : "";
    return UsageError(console, CommandUsage(command), program, other.empty() ? message : other);
  }
  if (parsed->help) {
    console.Line(CommandHelp(command));
    return kExitFinished;
  }
  auto code = command.run(*parsed, console);
  if (code) return *code;
  if (code.error().code == ErrorCode::kUsage) {
    return UsageError(console, CommandUsage(command), program, code.error().message);
  }
  console.Error(code.error().message);
  return kExitUnusable;
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, Console& console) {
  if (const std::string other = OtherInstallation(); !other.empty()) {
    console.Error(other);
    return kExitUnusable;
  }
  if (arguments.empty()) {
    console.Line(MainHelp());
    return kExitFinished;
  }
  const Invocation invocation = TakeApart(arguments);
  if (!invocation.error.empty()) return UsageError(console, MainUsage(), "msprobe", invocation.error);
  if (invocation.help) {
    console.Line(MainHelp());
    return kExitFinished;
  }
  if (invocation.version) {
    console.Line("msprobe " MSPROBE_VERSION);
    return kExitFinished;
  }
  return RunCommand(*invocation.command, invocation, console);
}

}  // namespace msprobe
