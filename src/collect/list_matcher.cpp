#include "collect/list_matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {
namespace {

constexpr std::string_view kExactMark = "=";
constexpr std::string_view kExpressionMark = "re:";
constexpr std::int64_t kExpressionMemory = std::int64_t{1} << 20U;  ///< each; beyond it RE2 falls back, still linear

bool IsExact(std::string_view element) { return element.starts_with(kExactMark); }
bool IsExpression(std::string_view element) { return element.starts_with(kExpressionMark); }

std::unique_ptr<re2::RE2> Compile(std::string_view element) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kExpressionMemory);
  options.set_never_capture(true);
  element.remove_prefix(kExpressionMark.size());
  return std::make_unique<re2::RE2>(re2::StringPiece(element.data(), element.size()), options);
}

Error Bad(std::string_view element, const std::string& problem) {
  return {ErrorCode::kInput, fmt::format("holds \"{}\"{}", Excerpt(element, 120), problem)};
}

}  // namespace

Status ListMatcher::Check(const std::vector<std::string>& elements) {
  for (const std::string& element : elements) {
    if (element == kExactMark) return Bad(element, " without a name; write for example \"=relu\"");
    if (element == kExpressionMark) return Bad(element, " without an expression; write for example \"re:relu|gelu\"");
    if (!IsExpression(element)) continue;
    const std::unique_ptr<re2::RE2> compiled = Compile(element);
    if (!compiled->ok()) {
      return Bad(
          element,
          fmt::format(", which is no usable regular expression: {}; the syntax is RE2's, without look-around and "
                      "back references",
                      Excerpt(compiled->error(), 120)));
    }
  }
  return {};
}

ListMatcher::ListMatcher(const std::vector<std::string>& elements) : elements_(elements) {
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    const std::string& element = elements_[i];
    if (IsExact(element)) {
      if (element != kExactMark) exact_[element.substr(kExactMark.size())].push_back(i);
    } else if (IsExpression(element)) {
      std::unique_ptr<re2::RE2> compiled = Compile(element);
      if (compiled->ok() && element != kExpressionMark) expressions_.push_back({i, std::move(compiled)});
    } else {
      parts_.push_back(i);
    }
  }
}

ListMatcher::~ListMatcher() = default;

const std::vector<std::size_t>& ListMatcher::Find(std::string_view record_name) {
  found_.clear();
  for (const std::size_t i : parts_) {
    if (record_name.find(elements_[i]) != std::string_view::npos) found_.push_back(i);
  }
  if (!exact_.empty()) {
    FindExact(record_name);
    const NameParts parts = ParseNameParts(record_name);
    if (parts.kind != NameKind::kNeither) {
      FindExact(parts.stem);
      FindExact(parts.api);
      if (parts.kind == NameKind::kApi) {
        FindExact(record_name.substr(0, parts.stem.size() + 1 + parts.number.size()));
      } else if (!parts.module_path().empty()) {
        FindExact(parts.module_path());
        // A module "Linear" directly below a module called "Linear" is one match, not two.
        if (parts.module_class() != parts.module_path()) FindExact(parts.module_class());
      }
    }
  }
  for (const Expression& expression : expressions_) {
    if (re2::RE2::PartialMatch(re2::StringPiece(record_name.data(), record_name.size()), *expression.compiled)) {
      found_.push_back(expression.element);
    }
  }
  return found_;
}

void ListMatcher::FindExact(std::string_view text) {
  const auto elements = exact_.find(text);
  if (elements != exact_.end()) found_.insert(found_.end(), elements->second.begin(), elements->second.end());
}

}  // namespace msprobe
