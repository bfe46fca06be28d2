#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/file_handle.h"
#include "base/result.h"
#include "check/journal.h"
#include "check/plan.h"
#include "check/result_files.h"
#include "check/run_counts.h"

namespace msprobe {

/// Writes the two CSVs of a run in dump order, whatever order the APIs finish in, so that any number of workers and a
/// resumed run give the same bytes. A row of the result CSV is written before the details rows of its API.
class ResultWriter {
 public:
  /// New files (mode 0640, never over an existing one). `device_type` goes into the .device file; "" writes none.
  /// `plan` must outlive the writer.
  static Result<ResultWriter> Create(const ResultFiles& files, const CheckPlan& plan, const JournalHeader& header,
                                     const std::string& device_type);

  /// Continues the files of an interrupted run (see ResumeRun).
  static Result<ResultWriter> Resume(const ResultFiles& files, const CheckPlan& plan, JournalHeader header,
                                     const std::string& device_type);

  /// Indices into plan.cases that are still to be run, in dump order.
  const std::vector<std::size_t>& to_run() const { return to_run_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const RunCounts& counts() const { return counts_; }  ///< of the rows in the result CSV

  /// Takes the rows of one case: to the journal at once, to the CSVs as soon as all cases before it are there. The name
  /// is that of the case, whatever `rows` says.
  Status Add(std::size_t index, CaseRows rows);

  /// All cases are there: removes the journal.
  Status Finish();

 private:
  ResultWriter(ResultFiles files, const CheckPlan& plan) : files_(std::move(files)), plan_(&plan) {}

  Status OpenCsvFiles(int flags);
  void FindWork();
  Status WriteReady(const CaseRows* rows_of_next);
  void AppendRows(const CaseRows& rows);
  Status WriteBuffers();

  ResultFiles files_;
  const CheckPlan* plan_;
  FileHandle result_;
  FileHandle details_;
  std::optional<Journal> journal_;
  std::unordered_set<std::string> kept_;         // names whose rows were in the CSV before
  std::map<std::size_t, JournalEntry> waiting_;  // finished, but a case before them is not
  std::size_t next_ = 0;                         // first case whose rows are not in the CSVs
  std::string result_text_;
  std::string details_text_;
  std::vector<std::size_t> to_run_;
  std::vector<std::string> warnings_;
  RunCounts counts_;
};

}  // namespace msprobe
