#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/dump_reader.h"

namespace msprobe {

/// One forward record, with its backward record where the dump has one.
struct CheckCase {
  std::string full_name;  ///< without the direction, printable; the key of every row
  std::string type;       ///< empty where the name cannot be parsed
  std::string api;        ///< name without type and number: "linear", "linalg.norm"
  RecordPosition forward;
  std::optional<RecordPosition> backward;
  std::string skip_reason;  ///< empty: to be run; else it gets a SKIP row with this message and reaches no worker
};

struct CheckPlan {
  std::vector<CheckCase> cases;  ///< in dump order
  std::vector<std::string> warnings;
};

struct PlanRequest {
  std::vector<std::string> white_list;
  std::vector<std::string> black_list;
  bool filter_repeated = false;   ///< -f
  std::vector<std::string> only;  ///< --only; empty: everything
};

/// Turns the index of a dump into the cases to check (accuracy_checker.md 4 to 6, decisions 21, 23). Every forward
/// record becomes a case, also those that are not run, so that each gets its row; with `only` just the chosen ones do.
/// A name in `only` is a full name ("Functional.linear.0", also with its direction and output), an API of one type
/// ("Functional.linear") or an API name ("linear"); one that matches nothing is an error of kUsage. Of records with the
/// same name the first counts. `reader` must be open on the indexed file.
Result<CheckPlan> MakePlan(const DumpIndex& index, const RecordTextReader& reader, const PlanRequest& request);

/// Fingerprint of a plan and of the dump file that it was made from, for the journal (decisions 31): 16 hex digits.
Result<std::string> PlanFingerprint(const CheckPlan& plan, const std::string& dump_path);

}  // namespace msprobe
