#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/text_hash.h"
#include "collect/list_matcher.h"
#include "collect/list_tally.h"
#include "collect/seen_names.h"
#include "config/dump_settings.h"

namespace msprobe {

/// Decides which records are kept: `scope`, `list` and `risk_level` (mindspore_dump.md 5, the same for both
/// frameworks), and of which the tensors become files though the task does not say so: `tensor_list`. Filtering never
/// changes the numbering of what remains. Costs nothing where none of them is configured.
///
/// The scope is a range of time: open from its first name to its last, both included. An end that names an API call is
/// met when its record is asked for, an end that names a module call when that call begins (first) or ends (last).
/// At level mix a module that the list names is expanded: everything that runs while it runs is kept.
class RecordFilter {
 public:
  /// What the user must correct before anything is collected: list elements that are no usable expressions.
  static Status Check(const DumpSettings& settings);

  explicit RecordFilter(const DumpSettings& settings);

  /// To be asked exactly once per record, when its name is known.
  bool Admit(std::string_view record_name) { return !active_ || Decide(record_name); }

  /// The same for a record that belongs to what was, or was not, in scope earlier.
  bool AdmitAsPartOf(std::string_view record_name, bool in_scope) {
    return !active_ || IsListed(record_name, in_scope);
  }
  /// Whether the scope is open now; always without one.
  bool in_scope() const { return !has_scope() || scope_open_; }

  /// A module call begins or ends: to be told before its record is asked for, and after its last inner record. An end
  /// whose begin was not told is harmless.
  void BeginModule(std::string_view record_name) {
    if (active_) Begin(record_name);
  }
  void EndModule(std::string_view record_name) {
    if (active_) End(record_name);
  }

  /// A new step begins outside the scope and outside every module.
  void Reset();

  /// Whether `tensor_list` names the record.
  bool SavesTensors(std::string_view record_name) {
    return !tensor_list_.empty() && !tensor_list_.Find(record_name).empty();
  }

  const DataMode& data_mode() const { return data_mode_; }

  /// What matched and what did not since construction; empty where no record was asked for.
  FilterReport Report() const;

 private:
  struct ScopeEnd {
    std::string name;  ///< empty: none
    bool is_module = false;
    bool occurred = false;
  };

  bool Decide(std::string_view record_name);
  bool IsListed(std::string_view record_name, bool in_scope);
  void Begin(std::string_view record_name);
  void End(std::string_view record_name);
  void Open();
  void Close();
  bool has_scope() const { return !first_.name.empty(); }
  void ReportScope(FilterReport& report) const;

  ListMatcher list_;
  ListTally tally_;
  ListMatcher tensor_list_;
  ListTally tensor_tally_;
  SeenNames seen_;
  ScopeEnd first_;
  ScopeEnd last_;
  DataMode data_mode_;
  RiskLevel risk_level_;
  bool active_;
  bool expands_;
  bool scope_open_ = false;
  bool closed_once_ = false;  ///< the last name occurred while the scope was open
  TextSet expanded_;          ///< module calls that run and that the list names
  std::uint64_t asked_ = 0;
  std::uint64_t inside_expanded_ = 0;  ///< records kept because of their module alone
};

}  // namespace msprobe
