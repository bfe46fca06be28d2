#include "collect/record_filter.h"

#include <algorithm>

namespace msprobe {

RecordFilter::RecordFilter(const DumpSettings& settings) : list_(settings.list), data_mode_(settings.data_mode) {
  if (!settings.scope.empty()) {
    scope_begin_ = settings.scope.front();
    scope_end_ = settings.scope.back();
  }
}

bool RecordFilter::Admit(std::string_view record_name) {
  bool in_scope = true;
  if (!scope_begin_.empty()) {
    if (record_name == scope_begin_) {
      scope_open_ = true;
    }
    in_scope = scope_open_;
    if (record_name == scope_end_) {
      scope_open_ = false;
    }
  }
  if (!in_scope) {
    return false;
  }
  return list_.empty() || std::any_of(list_.begin(), list_.end(), [&](const std::string& part) {
           return record_name.find(part) != std::string_view::npos;
         });
}

}  // namespace msprobe
