#pragma once

#include <nanobind/nanobind.h>

#include "base/result.h"
#include "python/object.h"

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

inline nanobind::object ToPython(const Object& object) { return nanobind::borrow(object.get()); }

/// Runs `make`, turning a pending C-API exception into one that nanobind lets through.
template <typename Make>
auto Translated(const Make& make) {
  try {
    return make();
  } catch (const PythonError&) {
    throw nanobind::python_error();
  }
}

void BindCollect(nanobind::module_& m);
void BindConfig(nanobind::module_& m);
void BindMindSpore(nanobind::module_& m);
void BindTorch(nanobind::module_& m);
void BindReplay(nanobind::module_& m);

}  // namespace msprobe
