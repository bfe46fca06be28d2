#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "replay/argument.h"
#include "replay/output_value.h"
#include "tensor/dtype.h"

namespace msprobe {

/// Turns planned arguments into Python objects, and what a call returned into values of the core. Tensors are looked at
/// through their attributes only, so no version of the framework is linked.
class ReplayValues {
 public:
  explicit ReplayValues(nanobind::handle torch);

  /// `tensors[i]` stands for the case's tensor i; `device` for every device argument, "cpu" if it is None.
  nanobind::object Make(const Argument& argument, const nanobind::list& tensors, nanobind::handle device) const;

  /// Tensors must lie in host memory, strided, without conjugate and negative bits; they must outlive the result.
  OutputValue Read(nanobind::handle value, int depth = 0) const;

 private:
  nanobind::object torch_;
  nanobind::object tensor_type_;
};

struct WritableStorage {
  void* data = nullptr;
  std::size_t size = 0;
};

/// Memory of a contiguous host tensor of that dtype; raises ValueError for any other.
WritableStorage ReadWritableStorage(nanobind::handle tensor, DType dtype);

}  // namespace msprobe
