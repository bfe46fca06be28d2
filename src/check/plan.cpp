#include "check/plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "check/api_name.h"
#include "check/count_text.h"
#include "check/filter_signature.h"

namespace msprobe {
namespace {

/// A record above this size is not sent to a worker: a frame of the worker protocol is limited to 1 GiB.
constexpr std::uint64_t kMaxRecordBytes = 400ULL << 20U;

constexpr std::string_view kBadName = "the name is not Type.api.number, so it is not known which API was called";

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// A record's name as it stands in the CSVs: one line that no spreadsheet takes for a formula.
std::string CellText(std::string_view name) {
  std::string text = Printable(name);
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) text.front() = '_';
  return text;
}

/// Pairs forward and backward records.
Result<CheckPlan> PairRecords(const DumpIndex& index) {
  CheckPlan plan;
  std::unordered_map<std::string, std::size_t> case_of;
  std::unordered_map<std::string, const RecordPosition*> backward_of;
  std::size_t modules = 0;
  std::size_t duplicates = 0;
  std::string first_duplicate;
  for (const RecordPosition& record : index.records) {
    const RecordName name = ParseRecordName(record.name);
    if (name.kind == RecordKind::kIgnored) {
      ++modules;
      continue;
    }
    if (name.kind == RecordKind::kUnknown) {
      return Error{ErrorCode::kInput, "unexpected name '" + Excerpt(record.name) +
                                          "' in \"data\": names of API records end in .forward or .backward; "
                                          "check a dump of level L1 or mix"};
    }
    std::string full_name = CellText(name.full_name);
    const bool is_forward = name.kind == RecordKind::kForward;
    const bool is_new = is_forward ? case_of.emplace(full_name, plan.cases.size()).second
                                   : backward_of.emplace(full_name, &record).second;
    if (!is_new) {
      if (duplicates++ == 0) first_duplicate = record.name;
      continue;
    }
    if (!is_forward) continue;
    CheckCase item;
    if (auto api = ParseApiName(full_name)) {
      item.type = std::move(api->type);
      item.api = std::move(api->name);
    }
    item.full_name = std::move(full_name);
    item.forward = record;
    plan.cases.push_back(std::move(item));
  }
  for (const auto& [full_name, position] : backward_of) {
    const auto found = case_of.find(full_name);
    if (found != case_of.end()) plan.cases[found->second].backward = *position;
  }
  if (duplicates > 0) {
    plan.warnings.push_back(CountText(duplicates, "record") + " with a name that was there before (first: " +
                            Excerpt(first_duplicate) + "): only the first of each name is checked");
  }
  const auto orphans = static_cast<std::size_t>(std::count_if(
      backward_of.begin(), backward_of.end(), [&](const auto& item) { return case_of.count(item.first) == 0; }));
  if (orphans > 0) {
    plan.warnings.push_back(CountText(orphans, "backward record") +
                            " without a forward record cannot be checked: collect both directions (data_mode)");
  }
  if (plan.cases.empty() && modules > 0) {
    plan.warnings.push_back("the dump holds records of modules only, nothing to check: collect with level L1 or mix");
  }
  return plan;
}

/// Keeps the cases that `only` names.
Status KeepOnly(CheckPlan& plan, const std::vector<std::string>& only) {
  std::vector<bool> used(only.size(), false);
  const auto matches = [](const CheckCase& item, std::string_view name) {
    if (name == item.full_name || (!item.api.empty() && (name == item.api || name == item.type + "." + item.api))) {
      return true;
    }
    if (!name.starts_with(item.full_name)) return false;
    const std::string_view rest = name.substr(item.full_name.size());
    return rest == ".forward" || rest == ".backward" || rest.starts_with(".forward.") || rest.starts_with(".backward.");
  };
  std::vector<CheckCase> kept;
  std::vector<std::string> known;
  for (CheckCase& item : plan.cases) {
    bool wanted = false;
    for (std::size_t i = 0; i < only.size(); ++i) {
      if (matches(item, only[i])) wanted = used[i] = true;
    }
    known.push_back(item.full_name);
    if (wanted) kept.push_back(std::move(item));
  }
  for (std::size_t i = 0; i < only.size(); ++i) {
    if (used[i]) continue;
    for (const CheckCase& item : kept) known.push_back(item.api);
    const std::string near = Nearest(only[i], known);
    return Error{ErrorCode::kUsage, "--only: the dump has no API '" + Excerpt(only[i]) + "'" +
                                        (near.empty() ? "" : "; did you mean '" + near + "'?")};
  }
  plan.cases = std::move(kept);
  return {};
}

void ApplyLists(CheckPlan& plan, const PlanRequest& request) {
  for (CheckCase& item : plan.cases) {
    if (item.api.empty()) {
      item.skip_reason = kBadName;
    } else if (item.type == "Distributed") {
      item.skip_reason = "Distributed APIs are not checked: they need the processes of the training run";
    } else if (item.type == "MindSpeed") {
      item.skip_reason = "MindSpeed APIs are not checked: they need the library's own environment";
    } else if (Contains(request.black_list, item.api)) {
      item.skip_reason = "'" + item.api + "' is in black_list";
    } else if (!request.white_list.empty() && !Contains(request.white_list, item.api)) {
      item.skip_reason = "'" + item.api + "' is not in white_list";
    } else if (item.forward.size + (item.backward ? item.backward->size : 0) > kMaxRecordBytes) {
      item.skip_reason = "the record is larger than 400 MiB";
    }
  }
}

Status FilterRepeated(CheckPlan& plan, const RecordTextReader& reader) {
  std::unordered_map<std::string, std::string> first_of;
  for (CheckCase& item : plan.cases) {
    if (!item.skip_reason.empty()) continue;
    auto text = reader.Read(item.forward);
    if (!text) return text.error();
    auto record = ParseRecord(item.forward.name, *text);
    // What cannot be parsed is left to the worker, which gives the reason in the API's row.
    if (!record) continue;
    std::string key = item.type + "." + item.api + (item.backward ? "|b|" : "|f|") + FilterSignature(*record);
    const auto [found, is_new] = first_of.emplace(std::move(key), item.full_name);
    if (!is_new) item.skip_reason = "filtered by -f: same arguments, but for their values, as " + found->second;
  }
  return {};
}

}  // namespace

Result<CheckPlan> MakePlan(const DumpIndex& index, const RecordTextReader& reader, const PlanRequest& request) {
  auto plan = PairRecords(index);
  if (!plan) return plan;
  if (!request.only.empty()) {
    if (Status status = KeepOnly(*plan, request.only); !status) return status.error();
  }
  ApplyLists(*plan, request);
  if (request.filter_repeated) {
    if (Status status = FilterRepeated(*plan, reader); !status) return status.error();
  }
  return plan;
}

}  // namespace msprobe
