#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text_hash.h"
#include "collect/step_writer.h"
#include "collect/tensor_copy.h"
#include "record/element.h"

namespace msprobe {

/// Task overflow_check: of all records only those are written, with their tensors, in which Max or Min of some tensor
/// is NaN or infinite; after a number of them collection ends for good. Inputs are described before it is known what
/// the call does, so copies of the tensors of open records are held in memory. What does not fit is written at once and
/// removed again.
class OverflowCheck {
 public:
  static constexpr std::size_t kMostHeldBytes = std::size_t{256} << 20U;

  /// `limit`: -1 for none.
  explicit OverflowCheck(std::int64_t limit, std::size_t most_held_bytes = kMostHeldBytes)
      : limit_(limit), most_held_bytes_(most_held_bytes) {}

  static bool HasNonFinite(const Record& record);

  /// Takes the tensor that the record will name `file`; false when no tensor is saved any more.
  bool Hold(const std::string& file, const TensorView& view, StepWriter& writer);
  /// Whether the finished record is written. If so its tensors are saved, else forgotten. Counts.
  bool Keep(Record& record, StepWriter& writer);
  /// Forgets tensors of a record that will never be finished.
  void Forget(const std::vector<std::string>& files, StepWriter& writer);
  /// A step ends: no record is open any more.
  void Reset();

  std::int64_t count() const { return count_; }
  bool reached_limit() const { return limit_ > 0 && count_ >= limit_; }

 private:
  std::int64_t limit_;
  std::size_t most_held_bytes_;
  std::int64_t count_ = 0;
  TextMap<TensorCopy> held_;
  std::size_t held_bytes_ = 0;
  TextSet written_;  ///< at once, for they did not fit
};

}  // namespace msprobe
