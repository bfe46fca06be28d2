#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "check/journal.h"
#include "check/plan.h"
#include "check/result_files.h"
#include "check/run_counts.h"

namespace msprobe {

/// What is left of an interrupted run.
struct ResumedRun {
  std::optional<Journal> journal;        ///< absent: the caller begins one, with kept_rows as they are here
  std::vector<JournalEntry> entries;     ///< finished APIs of the journal, to be written to the CSVs again
  std::unordered_set<std::string> kept;  ///< names whose rows stay in the CSVs as they are
  RunCounts counts;                      ///< of the kept rows
  std::vector<std::string> warnings;
};

/// Repairs the two CSVs of an interrupted run so that they can be appended to (decisions 31, fault kinds B83 to B85).
/// With a journal: the CSVs are cut back to their headers and to the rows that were there before it was begun, because
/// everything else is in the journal; other settings or another dump are an error that names the difference. Without
/// one (a CSV of the reference): rows stay, torn and incomplete ones are removed, one warning; rows of APIs that `plan`
/// does not have are an error, since two dumps in one file cannot be told apart later. A file without any row gets its
/// header.
Result<ResumedRun> ResumeRun(const ResultFiles& files, const JournalHeader& header, const CheckPlan& plan);

}  // namespace msprobe
