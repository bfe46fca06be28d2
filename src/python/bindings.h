#pragma once

#include <nanobind/nanobind.h>

#include "base/result.h"

namespace msprobe {

/// Raises the Python exception of an error (msprobe.core.common.exceptions).
[[noreturn]] void Raise(const Error& error);

inline void RaiseIfFailed(const Status& status) {
  if (!status.ok()) {
    Raise(status.error());
  }
}

template <typename T>
T ValueOrRaise(Result<T> result) {
  if (!result.ok()) {
    Raise(result.error());
  }
  return std::move(*result);
}

void BindCollect(nanobind::module_& m);
void BindReplay(nanobind::module_& m);

}  // namespace msprobe
