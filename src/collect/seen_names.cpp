#include "collect/seen_names.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {
namespace {

constexpr std::size_t kMostSuggested = 3;
constexpr std::size_t kLongestWanted = 256;  ///< no name is longer; keeps the cost of a comparison bounded

std::string Quoted(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", Excerpt(name, 120));
  }
  return text;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// How far `wanted` is from `name`, both in lower case: as a whole or by their last parts ("F.rellu" and
// "Functional.relu"); a part of the name is nearer than a misspelling. Above the limit: not near.
std::size_t Distance(std::string_view wanted, std::string_view name, std::size_t limit) {
  if (wanted == name) return 0;
  if (name.find(wanted) != std::string_view::npos) return 1;
  const std::size_t of_last = EditDistance(LastPart(wanted), LastPart(name), limit);
  const std::size_t of_whole = EditDistance(wanted, name, limit);
  return std::min(of_last, of_whole) + 1;
}

}  // namespace

void SeenNames::Add(std::string_view record_name) {
  const NameParts parts = ParseNameParts(record_name);
  const std::string_view stem = parts.kind == NameKind::kNeither ? record_name : parts.stem;
  auto found = names_.find(stem);
  if (found == names_.end()) {
    if (names_.size() >= kMostNames) return;
    found = names_.emplace(std::string(stem), Seen()).first;
    order_.push_back(found->first);
  }
  const std::optional<std::int64_t> number = ParseInteger(parts.number);
  if (number && *number > 0) {
    found->second.highest_number = std::max(found->second.highest_number, static_cast<std::uint64_t>(*number));
  }
  found->second.forward |= parts.direction == "forward";
  found->second.backward |= parts.direction == "backward";
}

std::string SeenNames::Examples() const {
  if (order_.empty()) return "no record occurred";
  const std::size_t count = std::min(order_.size(), kMostSuggested);
  return "what occurred is for example " +
         Quoted({order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count)});
}

std::string SeenNames::Suggestion(std::string_view wanted) const {
  const NameParts parts = ParseNameParts(wanted);
  const std::string_view stem = parts.kind == NameKind::kNeither ? wanted : parts.stem;
  if (const auto seen = names_.find(stem); seen != names_.end()) {
    const auto& [number, forward, backward] = seen->second;
    const char* directions = forward == backward ? "" : forward ? ", forward only" : ", backward only";
    if (number == 0) return fmt::format("\"{}\" occurred with the number 0{}", Excerpt(stem, 120), directions);
    return fmt::format("\"{}\" occurred with the numbers 0 to {}{}", Excerpt(stem, 120), number, directions);
  }
  if (stem.empty() || stem.size() > kLongestWanted) return Examples();
  const std::string lower = ToLowerAscii(stem);
  const std::size_t limit = std::max<std::size_t>(1, LastPart(lower).size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view name : order_) {
    const std::size_t distance = Distance(lower, ToLowerAscii(name.substr(0, kLongestWanted)), limit);
    if (distance <= limit + 1) near.emplace_back(distance, name);
  }
  if (near.empty()) return Examples();
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> nearest;
  for (std::size_t i = 0; i < std::min(near.size(), kMostSuggested); ++i) nearest.push_back(near[i].second);
  return "the nearest that occurred: " + Quoted(nearest);
}

}  // namespace msprobe
