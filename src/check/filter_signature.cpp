#include "check/filter_signature.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "record/json_writer.h"

namespace msprobe {
namespace {

void AppendElement(std::string& out, const Element& element);

void AppendIntegers(std::string& out, const std::vector<std::int64_t>& numbers) {
  out += '(';
  for (const std::int64_t number : numbers) out += std::to_string(number) + ",";
  out += ')';
}

void AppendTensor(std::string& out, const TensorElement& tensor) {
  out += "tensor";
  AppendJsonString(out, tensor.type);
  AppendJsonString(out, tensor.dtype);
  AppendIntegers(out, tensor.shape);
  out += tensor.requires_grad ? (*tensor.requires_grad ? "g" : "n") : "?";
  if (tensor.stride) AppendIntegers(out, *tensor.stride);
  if (tensor.storage_offset) out += "+" + std::to_string(*tensor.storage_offset);
}

void AppendObject(std::string& out, const ElementObject& object) {
  std::vector<const Member*> members;
  for (const Member& member : object) members.push_back(&member);
  std::stable_sort(members.begin(), members.end(), [](const Member* a, const Member* b) { return a->key < b->key; });
  out += '{';
  for (const Member* member : members) {
    AppendJsonString(out, member->key);
    out += ':';
    AppendElement(out, member->value);
    out += ',';
  }
  out += '}';
}

void AppendElement(std::string& out, const Element& element) {
  if (const TensorElement* tensor = element.tensor()) {
    AppendTensor(out, *tensor);
  } else if (const TypedElement* typed = element.typed()) {
    out += '<';
    AppendJsonString(out, typed->type);
    AppendElement(out, typed->value);
    out += '>';
  } else if (const ElementList* list = element.list()) {
    out += '[';
    for (const Element& item : *list) {
      AppendElement(out, item);
      out += ',';
    }
    out += ']';
  } else if (const ElementObject* object = element.object()) {
    AppendObject(out, *object);
  } else {
    AppendJson(out, element);
  }
}

}  // namespace

std::string FilterSignature(const Record& forward) {
  std::string out;
  for (const char* section : {"input_args", "input_kwargs"}) {
    if (const Element* element = forward.Section(section)) AppendElement(out, *element);
    out += ';';
  }
  return out;
}

}  // namespace msprobe
