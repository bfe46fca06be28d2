#include "collect/overflow.h"

#include <utility>

#include "record/tensor_elements.h"

namespace msprobe {

bool OverflowCheck::HasNonFinite(const Record& record) {
  bool found = false;
  ForEachTensorElement(record, [&](const TensorElement& tensor) {
    found = found || (tensor.max && IsNonFinite(*tensor.max)) || (tensor.min && IsNonFinite(*tensor.min));
  });
  return found;
}

bool OverflowCheck::Hold(const std::string& file, const TensorView& view, StepWriter& writer) {
  TensorCopy copy = CopyTensor(view);
  if (held_bytes_ + copy.bytes.size() > most_held_bytes_) {
    if (!writer.SaveTensor(file, std::move(copy))) {
      return false;
    }
    written_.insert(file);
    return true;
  }
  held_bytes_ += copy.bytes.size();
  held_.insert_or_assign(file, std::move(copy));
  return true;
}

bool OverflowCheck::Keep(Record& record, StepWriter& writer) {
  if (reached_limit() || !HasNonFinite(record)) {
    std::vector<std::string> files;
    ForEachTensorElement(record, [&](const TensorElement& tensor) { files.push_back(tensor.data_name); });
    Forget(files, writer);
    return false;
  }
  ForEachTensorElement(record, [&](TensorElement& tensor) {
    const auto copy = held_.find(tensor.data_name);
    if (copy != held_.end()) {
      held_bytes_ -= copy->second.bytes.size();
      if (!writer.SaveTensor(tensor.data_name, std::move(copy->second))) {
        tensor.data_name.clear();
      }
      held_.erase(copy);
    } else {
      written_.erase(tensor.data_name);
    }
  });
  ++count_;
  return true;
}

void OverflowCheck::Forget(const std::vector<std::string>& files, StepWriter& writer) {
  std::vector<std::string> written;
  for (const std::string& file : files) {
    if (const auto copy = held_.find(file); copy != held_.end()) {
      held_bytes_ -= copy->second.bytes.size();
      held_.erase(copy);
    } else if (written_.erase(file) != 0) {
      written.push_back(file);
    }
  }
  writer.RemoveTensors(written);
}

void OverflowCheck::Reset() {
  held_.clear();
  held_bytes_ = 0;
  written_.clear();
}

}  // namespace msprobe
