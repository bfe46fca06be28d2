#include "replay/index_rules.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replay/argument_planner.h"

namespace msprobe {
namespace {

using Shape = std::vector<std::int64_t>;

// Shape of the recorded output, null where there is none.
const Shape* RecordedOutputShape(const Record& forward) {
  const Element* output = forward.Section("output");
  if (output == nullptr || output->list() == nullptr || output->list()->empty()) return nullptr;
  const TensorElement* tensor = output->list()->front().tensor();
  return tensor == nullptr ? nullptr : &tensor->shape;
}

// x[i, j] drops leading dimensions, x[[i, j]] gathers rows: the shape of the result tells which one it was.
bool ReadAsTuple(const Argument& index, const Shape& indexed, const Shape& result) {
  const std::size_t count = index.items.size();
  if (count == 0 || count > indexed.size()) return false;
  const auto rest = indexed.begin() + static_cast<std::ptrdiff_t>(count);
  return std::equal(rest, indexed.end(), result.begin(), result.end());
}

// An assignment has no result. It is taken for x[i, j] = v, the usual form, wherever these indices exist.
bool WrittenAsTuple(const Argument& index, const Shape& indexed) {
  if (index.items.empty() || index.items.size() > indexed.size()) return false;
  for (std::size_t i = 0; i < index.items.size(); ++i) {
    const std::int64_t position = index.items[i].integer;
    if (position >= indexed[i] || position < -indexed[i]) return false;
  }
  return true;
}

void MakeMask(TensorSpec& index) {
  index.dtype = index.bench_dtype = DType::kBool;
  index.range.integer_low = std::min<std::int64_t>(index.range.integer_low, 1);
  index.range.integer_high = std::min<std::int64_t>(index.range.integer_high, 1);
}

}  // namespace

void ApplyIndexRules(std::string_view api, const Record& forward, CallArguments& call) {
  const bool reads = api == "__getitem__";
  if ((!reads && api != "__setitem__") || call.positional.size() < 2) return;
  Argument& index = call.positional[1];
  if (index.kind == Argument::Kind::kTensor && call.tensors[index.tensor].dtype == DType::kUint8) {
    MakeMask(call.tensors[index.tensor]);
  }
  if (index.kind != Argument::Kind::kList) return;

  const auto is = [](Argument::Kind kind) { return [kind](const Argument& item) { return item.kind == kind; }; };
  if (std::all_of(index.items.begin(), index.items.end(), is(Argument::Kind::kBool))) return;
  if (!std::all_of(index.items.begin(), index.items.end(), is(Argument::Kind::kInteger))) {
    index.kind = Argument::Kind::kTuple;
    return;
  }
  if (call.positional[0].kind != Argument::Kind::kTensor) return;
  const Shape& indexed = call.tensors[call.positional[0].tensor].shape;
  const Shape* result = RecordedOutputShape(forward);
  const bool tuple = reads ? result != nullptr && ReadAsTuple(index, indexed, *result) : WrittenAsTuple(index, indexed);
  if (tuple) index.kind = Argument::Kind::kTuple;
}

}  // namespace msprobe
