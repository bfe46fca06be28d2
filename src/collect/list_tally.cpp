#include "collect/list_tally.h"

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {
namespace {

constexpr std::size_t kMostNamesOfAnElement = 8;
constexpr std::size_t kMostLines = 20;

// Lines beyond the limit become one that counts them.
void Shorten(std::vector<std::string>& lines, const char* key, std::size_t count, const char* what) {
  if (count > kMostLines) lines.push_back(fmt::format("{}: {} more elements {}", key, count - kMostLines, what));
}

const char* Plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

// What an element looks for, without its mark.
std::string_view Wanted(std::string_view element) { return element.starts_with('=') ? element.substr(1) : element; }

}  // namespace

void ListTally::Count(const std::vector<std::size_t>& elements, std::string_view record_name, bool kept) {
  if (elements.empty()) return;
  const NameParts parts = ParseNameParts(record_name);
  const std::string_view stem = parts.kind == NameKind::kNeither ? record_name : parts.stem;
  for (const std::size_t element : elements) {
    Counts& counts = counts_[element];
    if (counts.matched++ == 0) --unmatched_;
    if (kept) ++counts.kept;
    const auto known =
        std::find_if(counts.names.begin(), counts.names.end(), [&](const auto& entry) { return entry.first == stem; });
    if (known != counts.names.end()) {
      ++known->second;
    } else if (counts.names.size() < kMostNamesOfAnElement) {
      counts.names.emplace_back(stem, 1);
    } else {
      ++counts.of_other_names;
    }
  }
}

void ListTally::Report(const std::vector<std::string>& elements, const SeenNames& seen, FilterReport& report) const {
  std::size_t unmatched = 0;
  std::size_t outside = 0;
  std::size_t matched = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Counts& counts = counts_[i];
    const std::string element = Excerpt(elements[i], 120);
    if (counts.matched == 0) {
      if (++unmatched > kMostLines) continue;
      const bool is_expression = elements[i].starts_with("re:");
      report.warnings.push_back(fmt::format("{}: \"{}\" matched no record; {}", key_, element,
                                            is_expression ? seen.Examples() : seen.Suggestion(Wanted(elements[i]))));
      continue;
    }
    if (counts.kept == 0) {
      if (++outside > kMostLines) continue;
      report.warnings.push_back(fmt::format("{}: \"{}\" matched {} record{}, all outside the scope", key_, element,
                                            counts.matched, Plural(counts.matched)));
      continue;
    }
    if (++matched > kMostLines) continue;
    std::string line =
        fmt::format("{}: \"{}\" matched {} record{}:", key_, element, counts.matched, Plural(counts.matched));
    for (const auto& [name, count] : counts.names) {
      line += fmt::format("{} {} ({})", line.ends_with(':') ? "" : ",", Excerpt(name, 120), count);
    }
    if (counts.of_other_names > 0) line += fmt::format(", others ({})", counts.of_other_names);
    if (counts.kept != counts.matched) line += fmt::format("; {} of them inside the scope", counts.kept);
    report.infos.push_back(std::move(line));
  }
  Shorten(report.warnings, key_, unmatched, "matched no record");
  Shorten(report.warnings, key_, outside, "matched records outside the scope only");
  Shorten(report.infos, key_, matched, "matched records");
}

}  // namespace msprobe
