#include "collect/record_filter.h"

#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {

Status RecordFilter::Check(const DumpSettings& settings) {
  for (const auto& [key, list] : {std::pair("list", &settings.list), std::pair("tensor_list", &settings.tensor_list)}) {
    if (Status checked = ListMatcher::Check(*list); !checked.ok()) {
      return Error{checked.error().code, fmt::format("\"{}.{}\" {}", settings.task_name, key, checked.error().message)};
    }
  }
  return {};
}

RecordFilter::RecordFilter(const DumpSettings& settings)
    : list_(settings.list),
      tally_("list", settings.list.size()),
      tensor_list_(settings.tensor_list),
      tensor_tally_("tensor_list", settings.tensor_list.size()),
      data_mode_(settings.data_mode),
      risk_level_(settings.risk_level),
      active_(!settings.list.empty() || !settings.scope.empty() || !settings.tensor_list.empty() ||
              settings.risk_level != RiskLevel::kAll),
      expands_(settings.level == Level::kMix && !settings.list.empty()) {
  if (!settings.scope.empty()) {
    first_.name = settings.scope.front();
    last_.name = settings.scope.back();
    first_.is_module = ParseNameParts(first_.name).kind == NameKind::kModule;
    last_.is_module = ParseNameParts(last_.name).kind == NameKind::kModule;
  }
}

bool RecordFilter::Decide(std::string_view record_name) {
  ++asked_;
  if (tally_.has_unmatched() || tensor_tally_.has_unmatched() || (has_scope() && !closed_once_)) {
    seen_.Add(record_name);
  }
  bool in_scope = true;
  if (has_scope()) {
    if (!first_.is_module && record_name == first_.name) Open();
    in_scope = scope_open_;
    if (!last_.is_module && record_name == last_.name) Close();
  }
  bool kept = IsListed(record_name, in_scope);
  if (risk_level_ != RiskLevel::kAll) {
    const NameParts parts = ParseNameParts(record_name);
    if (parts.kind == NameKind::kApi) {
      kept =
          kept && IsRecordedAt(risk_level_, parts.stem.substr(0, parts.stem.size() - parts.api.size() - 1), parts.api);
    }
  }
  if (kept && !tensor_list_.empty()) tensor_tally_.Count(tensor_list_.Find(record_name), record_name, true);
  return kept;
}

bool RecordFilter::IsListed(std::string_view record_name, bool in_scope) {
  if (list_.empty()) return in_scope;
  const std::vector<std::size_t>& elements = list_.Find(record_name);
  tally_.Count(elements, record_name, in_scope);
  if (!in_scope) return false;
  if (!elements.empty()) return true;
  if (expanded_.empty()) return false;
  ++inside_expanded_;
  return true;
}

void RecordFilter::Begin(std::string_view record_name) {
  if (first_.is_module && record_name == first_.name) Open();
  if (expands_ && !list_.Find(record_name).empty()) expanded_.emplace(record_name);
}

void RecordFilter::End(std::string_view record_name) {
  if (last_.is_module && record_name == last_.name) Close();
  if (const auto module = expanded_.find(record_name); module != expanded_.end()) expanded_.erase(module);
}

void RecordFilter::Open() {
  first_.occurred = true;
  scope_open_ = true;
}

void RecordFilter::Close() {
  last_.occurred = true;
  closed_once_ |= scope_open_;
  scope_open_ = false;
}

void RecordFilter::Reset() {
  scope_open_ = false;
  expanded_.clear();
}

FilterReport RecordFilter::Report() const {
  FilterReport report;
  if (asked_ == 0) return report;
  if (has_scope()) ReportScope(report);
  tally_.Report(list_.elements(), seen_, report);
  tensor_tally_.Report(tensor_list_.elements(), seen_, report);
  if (inside_expanded_ > 0) {
    report.infos.push_back(fmt::format("list: {} more records ran inside modules that it names", inside_expanded_));
  }
  return report;
}

void RecordFilter::ReportScope(FilterReport& report) const {
  if (!first_.occurred) {
    report.warnings.push_back(fmt::format("scope: \"{}\" never occurred, so no record was kept; {}",
                                          Excerpt(first_.name, 120), seen_.Suggestion(first_.name)));
  } else if (!last_.occurred) {
    report.warnings.push_back(
        fmt::format("scope: \"{}\" never occurred, so the scope stayed open to the end of the step; {}",
                    Excerpt(last_.name, 120), seen_.Suggestion(last_.name)));
  } else if (!closed_once_) {
    report.warnings.push_back(
        fmt::format("scope: \"{}\" occurred only before \"{}\", so the scope stayed open to the end of the step",
                    Excerpt(last_.name, 120), Excerpt(first_.name, 120)));
  }
}

}  // namespace msprobe
