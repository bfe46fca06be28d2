#include "collect/held_records.h"

#include <utility>

#include "record/tensor_elements.h"

namespace msprobe {

void SetStatistics(TensorElement& tensor, const Statistics& statistics, Framework framework) {
  tensor.max = statistics.max;
  tensor.min = statistics.min;
  tensor.mean = statistics.mean;
  tensor.norm = statistics.norm;
  if (framework == Framework::kPyTorch) {
    if (IsNonFinite(statistics.max)) {
      tensor.finite_max = statistics.finite_max;
    }
    if (IsNonFinite(statistics.min)) {
      tensor.finite_min = statistics.finite_min;
    }
  }
}

void HeldRecords::Add(FinishedRecord record, LateStatistics& source) {
  const auto now = std::chrono::steady_clock::now();
  if (records_.empty()) {
    oldest_ = now;
  }
  records_.push_back(std::move(record));
  const std::size_t waiting = source.waiting();
  if (synchronous_ || waiting == 0 || waiting >= kMostStatistics || records_.size() >= kMostRecords ||
      now - oldest_ >= kLongest) {
    Release(source);
  }
}

void HeldRecords::Release(LateStatistics& source) {
  if (releasing_) {
    return;
  }
  releasing_ = true;
  const std::size_t count = records_.size();  // those that other threads add meanwhile may wait for the next time
  const bool known = source.waiting() == 0 || source.Fetch();
  releasing_ = false;
  if (known) {
    HandOn(count);
  }
}

void HeldRecords::ReleaseUnknown() { HandOn(records_.size()); }

void HeldRecords::HandOn(std::size_t count) {
  for (std::size_t i = 0; i < count && !records_.empty(); ++i) {
    FinishedRecord record = std::move(records_.front());
    records_.pop_front();
    ForEachTensorElement(record.record, [&](TensorElement& tensor) {
      if (tensor.late) {
        SetStatistics(tensor, tensor.late->value_or(Statistics()), framework_);
        tensor.late.reset();
      }
    });
    sink_(std::move(record));
  }
  oldest_ = std::chrono::steady_clock::now();
}

}  // namespace msprobe
