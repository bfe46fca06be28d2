#include "collect/record_filter.h"

#include "base/format.h"
#include "base/text.h"
#include "config/record_name.h"

namespace msprobe {

Status RecordFilter::Check(const DumpSettings& settings) {
  Status checked = ListMatcher::Check(settings.list);
  if (checked.ok()) return checked;
  return Error{checked.error().code, fmt::format("\"{}.list\" {}", settings.task_name, checked.error().message)};
}

RecordFilter::RecordFilter(const DumpSettings& settings)
    : list_(settings.list),
      tally_(settings.list.size()),
      data_mode_(settings.data_mode),
      active_(!settings.list.empty() || !settings.scope.empty()),
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
  if (tally_.has_unmatched() || (has_scope() && !closed_once_)) seen_.Add(record_name);
  bool in_scope = true;
  if (has_scope()) {
    if (!first_.is_module && record_name == first_.name) Open();
    in_scope = scope_open_;
    if (!last_.is_module && record_name == last_.name) Close();
  }
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
