#include "config/number_list.h"

#include <algorithm>
#include <optional>

#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::int64_t kLargest = 1'000'000;
constexpr std::size_t kMostElements = 1'000'000;

struct Range {
  std::int64_t first;
  std::int64_t last;
};

std::optional<std::int64_t> ParseBound(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> number = ParseInteger(text);
  if (!number || *number > kLargest) return std::nullopt;
  return number;
}

std::optional<Range> ParseElement(const rapidjson::Value& value) {
  if (value.IsInt64()) {
    const std::int64_t number = value.GetInt64();
    if (number < 0 || number > kLargest) return std::nullopt;
    return Range{number, number};
  }
  if (!value.IsString()) return std::nullopt;
  const std::string_view text = Trim({value.GetString(), value.GetStringLength()});
  const std::size_t dash = text.find('-');
  const std::optional<std::int64_t> first = ParseBound(Trim(text.substr(0, dash)));
  const std::optional<std::int64_t> last =
      dash == std::string_view::npos ? first : ParseBound(Trim(text.substr(dash + 1)));
  if (!first || !last || *first > *last) return std::nullopt;
  return Range{*first, *last};
}

std::string WrongElement(const rapidjson::Value& value) {
  return fmt::format("holds {}; an element is a whole number from 0 to {} or a text such as \"3\" or \"4-6\"",
                     Describe(value), kLargest);
}

std::vector<std::int64_t> ExpandAsGiven(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> numbers;
  std::vector<bool> seen(kLargest + 1);
  for (const Range& range : ranges) {
    for (std::int64_t number = range.first; number <= range.last; ++number) {
      if (!seen[static_cast<std::size_t>(number)]) numbers.push_back(number);
      seen[static_cast<std::size_t>(number)] = true;
    }
  }
  return numbers;
}

// Overlapping ranges are merged first, so that the cost does not grow with their sum.
std::vector<std::int64_t> Expand(std::vector<Range> ranges, Order order) {
  if (order == Order::kAsGiven) return ExpandAsGiven(ranges);
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<std::int64_t> numbers;
  std::int64_t next = 0;
  for (const Range& range : ranges) {
    for (next = std::max(next, range.first); next <= range.last; ++next) numbers.push_back(next);
  }
  return numbers;
}

}  // namespace

Result<std::vector<std::int64_t>> ReadNumberList(const JsonSection& section, std::string_view key, Order order) {
  const rapidjson::Value* value = section.Find(key);
  if (value == nullptr) return std::vector<std::int64_t>();
  if (!value->IsArray()) {
    return section.Bad(key, fmt::format("is {}; it must be a list such as [] or [0, \"4-6\"]", Describe(*value)));
  }
  if (value->Size() > kMostElements)
    return section.Bad(key, "has more than 1000000 elements; use ranges such as \"0-99\"");
  std::vector<Range> ranges;
  for (const rapidjson::Value& item : value->GetArray()) {
    const std::optional<Range> range = ParseElement(item);
    if (!range) return section.Bad(key, WrongElement(item));
    ranges.push_back(*range);
  }
  return Expand(std::move(ranges), order);
}

Result<std::vector<std::int64_t>> ParseNumberList(const std::vector<std::string>& elements, const std::string& name,
                                                  Order order) {
  if (elements.size() > kMostElements) {
    return Error{ErrorCode::kInput,
                 fmt::format("{} has more than 1000000 elements; use ranges such as \"0-99\"", name)};
  }
  std::vector<Range> ranges;
  for (const std::string& element : elements) {
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(element.data(), element.size());
    if (document.HasParseError()) {
      return Error{ErrorCode::kInput, fmt::format("{} holds {}; an element is a whole number or a text such as \"4-6\"",
                                                  name, Excerpt(element, 80))};
    }
    const std::optional<Range> range = ParseElement(document);
    if (!range) return Error{ErrorCode::kInput, name + " " + WrongElement(document)};
    ranges.push_back(*range);
  }
  return Expand(std::move(ranges), order);
}

}  // namespace msprobe
