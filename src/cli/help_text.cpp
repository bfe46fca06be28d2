#include "cli/help_text.h"

#include <algorithm>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kHelpColumn = 34;

/// Breaks `text` at blanks; lines after the first begin with `indent` blanks.
std::string Wrap(std::string_view text, std::size_t first_column, std::size_t indent) {
  std::string out;
  std::size_t column = first_column;
  for (const std::string_view word : Split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string OptionHelp(const OptionSpec& option) {
  std::string left = "  " + Join(option.names, ", ");
  if (option.positional) {
    left += " ...";
  } else if (option.arity == Arity::kOne) {
    left += " " + option.value_name;
  } else if (option.arity == Arity::kOneOrMore) {
    left += " " + option.value_name + " ...";
  }
  left += left.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - left.size(), ' ');
  return left + Wrap((option.required ? "(required) " : "") + option.help, kHelpColumn, kHelpColumn) + "\n";
}

}  // namespace

std::string MainUsage() {
  return "usage: msprobe [-f pytorch] COMMAND [options]    (msprobe COMMAND --help explains one)";
}

std::string CommandUsage(const Command& command) { return "usage: " + command.usage; }

std::string MainHelp() {
  std::string out = MainUsage() + "\n\nFinds out where a model's numbers go wrong on an accelerator.\n\ncommands:\n";
  std::size_t widest = 0;
  for (const Command& command : CommandTable()) widest = std::max(widest, command.name.size());
  for (const Command& command : CommandTable()) {
    out += "  " + command.name + std::string(widest + 2 - command.name.size(), ' ') + command.summary + "\n";
  }
  out +=
      "\noptions:\n"
      "  -f, --framework NAME   pytorch; stands before the command\n"
      "  -h, --help             this text; after a command: the help of that command\n"
      "  --version              the version\n"
      "\nexample: check every API of a dump, then read the CSV it names\n"
      "  msprobe -f pytorch run_ut -api_info ./dump_path/step0/rank0/dump.json\n";
  return out;
}

std::string CommandHelp(const Command& command) {
  std::string out = CommandUsage(command) + "\n\n";
  for (const std::string_view paragraph : Split(command.description, '\n')) out += Wrap(paragraph, 0, 0) + "\n";
  out += "\noptions:\n";
  for (const OptionSpec& option : command.options) out += OptionHelp(option);
  out += OptionHelp(OptionSpec{{"-h", "--help"}, Arity::kFlag, "", "this text"});
  if (!command.examples.empty()) out += "\nexamples:\n" + command.examples;
  return out;
}

}  // namespace msprobe
