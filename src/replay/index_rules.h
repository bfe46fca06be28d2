#pragma once

#include <string_view>

#include "record/element.h"

namespace msprobe {

struct CallArguments;

/// A dump does not tell a tuple from a list. For `__getitem__` and `__setitem__` the index list becomes a tuple where a
/// list would mean something else: with slices, Ellipsis, None, tensors or lists in it (accuracy_checker.md 7.2), and
/// for plain integers where the recorded output has the shape of that. uint8 masks become bool (5.1).
void ApplyIndexRules(std::string_view api, const Record& forward, CallArguments& call);

}  // namespace msprobe
