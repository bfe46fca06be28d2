#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace msprobe {

/// One iteration folder whose statistic.csv was written.
struct SummarisedFolder {
  std::string csv_path;
  std::size_t files = 0;       ///< tensor files that went into the CSV and were removed
  std::size_t unreadable = 0;  ///< files whose statistics are blank; they stay
  std::string problem;         ///< of the first of these
};

using SummaryVisitor = std::function<void(const SummarisedFolder&)>;

/// MindSpore's kernel dump on a CPU stores tensors only; with task statistics this makes the statistics of them (spec
/// decisions 42). `path` is the dump path, with `rank_{id}/{net_name}/{graph_id}/{iteration}` below it, or one
/// `rank_{id}` folder.
///
/// For every finished iteration folder with tensor files, `statistic.csv` is written with a row for each, then the
/// files are removed that could be read. Rows of an earlier, interrupted pass are kept. Finished are all iterations of
/// a graph but the newest. Links are not followed; a folder that another process summarises at the moment is left to
/// it.
class KernelStatistics {
 public:
  explicit KernelStatistics(std::string path, SummaryVisitor visit = {});

  /// Summarises what is finished; with `all` every iteration, the newest and those looked at before included. A failure
  /// leaves a folder as it was and does not keep the others from being summarised; the first one is returned. A path
  /// that does not exist is none.
  Status Summarise(bool all);

 private:
  void SummariseRank(const std::string& rank_path);
  void SummariseGraph(const std::string& graph_path);
  bool SummariseIteration(const std::string& path);
  void Fail(const Error& error);
  Status Outcome() const { return failure_ ? Status(*failure_) : Status(); }

  std::string path_;
  SummaryVisitor visit_;
  bool all_ = false;
  std::optional<Error> failure_;                          ///< the first of this pass
  std::map<std::string, std::uint64_t> next_iterations_;  ///< of each graph, the first that may hold tensor files
};

/// The same in one call.
Status SummariseKernelDump(const std::string& path, bool all, const SummaryVisitor& visit = {});

}  // namespace msprobe
