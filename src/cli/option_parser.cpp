#include "cli/option_parser.h"

#include <algorithm>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::string_view kHelpNames[] = {"-h", "--help"};

Error Usage(std::string message) { return Error{ErrorCode::kUsage, std::move(message)}; }

bool IsLong(std::string_view name) { return name.starts_with("--"); }

/// Text that argparse takes for a negative number: -1, -.5, -2.0.
bool LooksLikeNegativeNumber(std::string_view text) {
  if (text.size() < 2 || text[0] != '-') return false;
  text.remove_prefix(1);
  const auto dot = text.find('.');
  const auto all_digits = [](std::string_view part) {
    return std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (dot == std::string_view::npos) return all_digits(text);
  return all_digits(text.substr(0, dot)) && dot + 1 < text.size() && all_digits(text.substr(dot + 1));
}

/// What a token stands for.
struct Match {
  const OptionSpec* option = nullptr;  ///< null: help
  std::string name;                    ///< as it is called in messages
  std::optional<std::string> attached;
};

class Parser {
 public:
  Parser(const std::vector<OptionSpec>& options, std::span<const std::string> arguments)
      : options_(options), arguments_(arguments) {}

  Result<ParsedOptions> Run() {
    while (position_ < arguments_.size()) {
      const std::string& token = arguments_[position_];
      if (const OptionSpec* positional = FindPositional(); positional != nullptr && IsValue(token)) {
        parsed_.Add(*positional, {token});
        ++position_;
        continue;
      }
      if (IsValue(token)) return Usage("unexpected argument '" + Printable(token) + "'" + UnexpectedHint(token));
      auto match = Resolve(token);
      if (!match) return match.error();
      ++position_;
      if (Status status = Consume(std::move(*match)); !status) return status.error();
      if (parsed_.help) return std::move(parsed_);
    }
    for (const OptionSpec& option : options_) {
      if (option.required && !parsed_.Has(option.names[0])) {
        return Usage((option.positional ? "" : "option ") + option.names[0] + " is missing: " + option.help);
      }
    }
    return std::move(parsed_);
  }

 private:
  static bool IsValue(std::string_view token) {
    return !token.starts_with('-') || token == "-" || LooksLikeNegativeNumber(token) ||
           token.find(' ') != std::string_view::npos;
  }

  const OptionSpec* FindPositional() const {
    const auto found =
        std::find_if(options_.begin(), options_.end(), [](const auto& option) { return option.positional; });
    return found == options_.end() ? nullptr : &*found;
  }

  /// Finds an option by its exact name, then with the other number of dashes (long names only).
  bool FindExact(std::string_view name, Match& match) const {
    for (const std::string_view help : kHelpNames) {
      if (name == help) {
        match.name = std::string(name);
        return true;
      }
    }
    for (const OptionSpec& option : options_) {
      for (const std::string& known : option.names) {
        if (name == known) {
          match.option = &option;
          match.name = known;
          return true;
        }
      }
    }
    for (const OptionSpec& option : options_) {
      for (const std::string& known : option.names) {
        if (option.positional) continue;
        const bool other_dashes = IsLong(known) ? name == std::string_view(known).substr(1) : name == "-" + known;
        if (known.size() > 2 && !option.exact_name_only && other_dashes) {
          match.option = &option;
          match.name = known;
          return true;
        }
      }
    }
    return false;
  }

  Result<Match> Resolve(const std::string& token) const {
    Match match;
    if (FindExact(token, match)) return match;
    const auto equals = token.find('=');
    const std::string name = token.substr(0, equals);
    std::optional<std::string> attached;
    if (equals != std::string::npos) attached = token.substr(equals + 1);
    if (attached && FindExact(name, match)) {
      match.attached = attached;
      return match;
    }
    return ResolvePrefix(token, name, std::move(attached));
  }

  Result<Match> ResolvePrefix(const std::string& token, const std::string& name,
                              std::optional<std::string> attached) const {
    std::vector<Match> candidates;
    const auto add = [&](const OptionSpec* option, const std::string& known, std::optional<std::string> value) {
      candidates.push_back(Match{option, known, std::move(value)});
    };
    for (const OptionSpec& option : options_) {
      for (const std::string& known : option.names) {
        if (!IsLong(token) && known.size() == 2 && token.substr(0, 2) == known) {
          add(&option, known, token.substr(2));
        } else if (!option.exact_name_only && name.size() > 1 && known.starts_with(name) &&
                   IsLong(token) == IsLong(known)) {
          add(&option, known, attached);
        }
      }
    }
    if (IsLong(token) ? std::string_view("--help").starts_with(name) && name.size() > 2 : token.starts_with("-h")) {
      candidates.push_back(Match{nullptr, "--help", std::nullopt});
    }
    if (candidates.empty()) return Usage("unknown option '" + Printable(name) + "'" + NearestHint(name));
    if (candidates.size() > 1) {
      std::string names;
      for (const Match& candidate : candidates) names += (names.empty() ? "" : " or ") + candidate.name;
      return Usage("option '" + Printable(name) + "' is ambiguous: " + names);
    }
    return std::move(candidates[0]);
  }

  Status Consume(Match match) {
    // Bundled flags: what is attached to a one-letter flag are further one-letter options.
    while (match.option != nullptr && match.option->arity == Arity::kFlag && match.attached) {
      if (match.name.size() != 2 || match.attached->empty()) {
        return Usage("option " + match.name + " takes no value, but '" + Printable(*match.attached) + "' was given");
      }
      const std::string next_name = "-" + match.attached->substr(0, 1);
      Match next;
      if (!FindExact(next_name, next)) {
        return Usage("option " + match.name + " takes no value, but '" + Printable(*match.attached) + "' was given" +
                     NearestHint("-" + match.name + *match.attached));
      }
      if (match.attached->size() > 1) next.attached = match.attached->substr(1);
      parsed_.Add(*match.option, {});
      match = std::move(next);
    }
    if (match.option == nullptr) {
      parsed_.help = true;
      return {};
    }
    const OptionSpec& option = *match.option;
    std::vector<std::string> values;
    if (option.arity != Arity::kFlag) {
      if (match.attached) {
        if (match.name.size() == 2 && arguments_[position_ - 1].find('=') == std::string::npos) {
          attached_at_ = position_ - 1;
        }
        values.push_back(std::move(*match.attached));
      } else {
        const std::size_t limit = option.arity == Arity::kOne ? 1 : arguments_.size();
        while (position_ < arguments_.size() && values.size() < limit && IsValue(arguments_[position_])) {
          values.push_back(arguments_[position_++]);
        }
      }
      if (values.empty()) {
        return Usage("option " + match.name + " needs " +
                     (option.arity == Arity::kOne ? "a value" : "at least one value") + " (" + option.value_name + ")");
      }
    }
    parsed_.Add(option, std::move(values));
    return {};
  }

  std::string NearestHint(const std::string& name) const {
    std::vector<std::string> known{"--help"};
    for (const OptionSpec& option : options_) {
      for (const std::string& option_name : option.names) {
        if (option_name.size() > 2 && !option.positional) known.push_back(option_name);
      }
    }
    // Compared without dashes, so that one dash too few does not hide the likeness.
    const auto bare = [](std::string_view text) { return std::string(text.substr(text.find_first_not_of('-'))); };
    if (name.find_first_not_of('-') == std::string::npos) return "; --help lists the options";
    std::vector<std::string> bare_names;
    for (const std::string& option_name : known) bare_names.push_back(bare(option_name));
    const auto longer = std::find_if(bare_names.begin(), bare_names.end(),
                                     [&](const std::string& item) { return item.starts_with(bare(name)); });
    const std::string near = longer != bare_names.end() ? *longer : Nearest(bare(name), bare_names);
    if (near.empty()) return "; --help lists the options";
    const auto found = std::find(bare_names.begin(), bare_names.end(), near) - bare_names.begin();
    return "; did you mean '" + known[static_cast<std::size_t>(found)] + "'?";
  }

  std::string UnexpectedHint(std::string_view token) const {
    // -outpath DIR: argparse, too, reads that as -o with the value "utpath".
    if (attached_at_ + 1 == position_) {
      const std::string& before = arguments_[attached_at_];
      return "; '" + Printable(before) + "' was read as " + before.substr(0, 2) + " with the value '" +
             Printable(before.substr(2)) + "'" + NearestHint(before);
    }
    if (token == "pytorch" || token == "mindspore") return "; the framework stands before the command: -f pytorch";
    return "; every value follows an option, --help lists them";
  }

  const std::vector<OptionSpec>& options_;
  std::span<const std::string> arguments_;
  std::size_t position_ = 0;
  std::size_t attached_at_ = static_cast<std::size_t>(-2);  // of the last one-letter option with an attached value
  ParsedOptions parsed_;
};

}  // namespace

std::string ParsedOptions::Value(std::string_view name, std::string_view fallback) const {
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? std::string(fallback) : found->second.back();
}

std::vector<std::string> ParsedOptions::Values(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

void ParsedOptions::Add(const OptionSpec& option, std::vector<std::string> values) {
  std::vector<std::string>& slot = values_[option.names[0]];
  if (!option.repeatable) slot.clear();
  for (std::string& value : values) slot.push_back(std::move(value));
}

Result<ParsedOptions> ParseOptions(const std::vector<OptionSpec>& options, std::span<const std::string> arguments) {
  return Parser(options, arguments).Run();
}

bool TakesValue(const std::vector<OptionSpec>& options, std::string_view token) {
  for (const OptionSpec& option : options) {
    if (option.positional) continue;
    for (const std::string& name : option.names) {
      if (name == token) return option.arity != Arity::kFlag;
    }
  }
  return false;
}

}  // namespace msprobe
