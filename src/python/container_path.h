#pragma once

#include <Python.h>

#include <array>
#include <cstddef>

namespace msprobe {

/// The containers that a walk through a call's values stands in, outermost first. Keeps a walk finite: a container
/// inside itself is not entered again, nor anything deeper than 400 levels, and after a million values it ends (lists
/// that share their parts unfold exponentially).
class ContainerPath {
 public:
  /// Whether `container` may be entered; if so, to be left again.
  bool Enter(PyObject* container) {
    if (depth_ == open_.size()) {
      return false;
    }
    for (std::size_t i = 0; i < depth_; ++i) {
      if (open_[i] == container) {
        return false;
      }
    }
    open_[depth_++] = container;
    return true;
  }
  void Leave() { --depth_; }
  /// Counts one value; false when there were too many.
  bool Spend() { return values_left_ != 0 && --values_left_ != 0; }

 private:
  std::array<PyObject*, 400> open_;  // NOLINT: only the first depth_ are read
  std::size_t depth_ = 0;
  std::size_t values_left_ = 1000000;
};

}  // namespace msprobe
