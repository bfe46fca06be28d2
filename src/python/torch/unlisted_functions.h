#pragma once

#include <cstdint>
#include <unordered_map>

#include "python/framework_access.h"
#include "python/object.h"

namespace msprobe {

/// Functions of torch that ran while calls were recorded, gave tensors and are in no list: what a user may want to add
/// to it (known_pains.md P203). Looks only if the environment variable MSPROBE_REPORT_UNLISTED is 1.
class UnlistedFunctions {
 public:
  UnlistedFunctions();

  bool is_wanted() const { return is_wanted_; }
  void Count(const FrameworkAccess& framework, PyObject* function, PyObject* output);
  /// dict: function -> number of its calls, of the functions that were not taken before. Throws PythonError.
  Object TakeNew();

 private:
  /// Functions made anew all the time must not fill the memory.
  static constexpr std::size_t kMostFunctions = 1000;

  struct Entry {
    Object function;  // keeps the address from being reused
    std::uint64_t calls = 0;
    bool taken = false;
  };
  bool is_wanted_;
  std::unordered_map<PyObject*, Entry> functions_;
};

}  // namespace msprobe
