#include "collect/held_records.h"

#include <cmath>
#include <utility>

namespace msprobe {
namespace {

bool IsNonFinite(const StatisticValue& value) {
  const double* number = std::get_if<double>(&value);
  return number != nullptr && !std::isfinite(*number);
}

void Settle(Element& element, Framework framework) {
  if (auto* tensor = std::get_if<std::unique_ptr<TensorElement>>(&element.value)) {
    if ((*tensor)->late) {
      SetStatistics(**tensor, (*tensor)->late->value_or(Statistics()), framework);
      (*tensor)->late.reset();
    }
  } else if (auto* list = std::get_if<ElementList>(&element.value)) {
    for (Element& part : *list) {
      Settle(part, framework);
    }
  } else if (auto* object = std::get_if<ElementObject>(&element.value)) {
    for (Member& member : *object) {
      Settle(member.value, framework);
    }
  }
}

}  // namespace

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
    for (Member& section : record.record.sections) {
      Settle(section.value, framework_);
    }
    sink_(std::move(record));
  }
  oldest_ = std::chrono::steady_clock::now();
}

}  // namespace msprobe
