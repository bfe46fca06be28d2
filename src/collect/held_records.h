#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "collect/late_statistics.h"
#include "collect/step_writer.h"
#include "record/element.h"

namespace msprobe {

/// Keeps records in order while statistics of some are on the way. Bounded: asks for them after a second, or when many
/// wait.
class HeldRecords {
 public:
  static constexpr std::size_t kMostRecords = 4096;
  static constexpr std::size_t kMostStatistics = 4096;
  static constexpr std::chrono::seconds kLongest{1};

  using Sink = std::function<void(FinishedRecord)>;
  /// `synchronous`: asks for them at once (MSPROBE_SYNC_SAVE=1).
  HeldRecords(Framework framework, bool synchronous, Sink sink)
      : framework_(framework), synchronous_(synchronous), sink_(std::move(sink)) {}

  /// `record` may hold tensors that wait for `source`.
  void Add(FinishedRecord record, LateStatistics& source);
  /// Reads what waits and hands all records on. While the source cannot be read, or another thread is at it, they stay.
  void Release(LateStatistics& source);
  /// Hands all records on, with nulls for what is not known.
  void ReleaseUnknown();
  void Clear() { records_.clear(); }
  bool empty() const { return records_.empty(); }

 private:
  void HandOn(std::size_t count);

  Framework framework_;
  bool synchronous_;
  Sink sink_;
  std::deque<FinishedRecord> records_;
  std::chrono::steady_clock::time_point oldest_;
  bool releasing_ = false;
};

/// Max, Min, Mean, Norm of `tensor`, and its finite extremes where the framework's dump has them.
void SetStatistics(TensorElement& tensor, const Statistics& statistics, Framework framework);

}  // namespace msprobe
