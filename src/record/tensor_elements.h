#pragma once

#include "record/element.h"

namespace msprobe {

/// Calls `visit` with every tensor in `element`, in order; `element` may be const.
template <typename AnyElement, typename Visit>
void ForEachTensorElement(AnyElement& element, const Visit& visit) {
  if (auto* tensor = std::get_if<std::unique_ptr<TensorElement>>(&element.value)) {
    visit(**tensor);
  } else if (auto* list = std::get_if<ElementList>(&element.value)) {
    for (auto& part : *list) {
      ForEachTensorElement(part, visit);
    }
  } else if (auto* object = std::get_if<ElementObject>(&element.value)) {
    for (auto& member : *object) {
      ForEachTensorElement(member.value, visit);
    }
  }
}

template <typename Visit>
void ForEachTensorElement(Record& record, const Visit& visit) {
  for (Member& section : record.sections) {
    ForEachTensorElement(section.value, visit);
  }
}

template <typename Visit>
void ForEachTensorElement(const Record& record, const Visit& visit) {
  for (const Member& section : record.sections) {
    ForEachTensorElement(section.value, visit);
  }
}

}  // namespace msprobe
