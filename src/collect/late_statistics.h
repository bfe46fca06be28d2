#pragma once

#include <cstddef>

namespace msprobe {

/// Statistics that are computed elsewhere, on a device, and read back later, many at once. A tensor that waits for them
/// shares TensorElement::late with the source.
class LateStatistics {
 public:
  virtual ~LateStatistics() = default;

  /// How many are still to be read.
  virtual std::size_t waiting() const = 0;
  /// Makes all known that were waiting at the call, by nulls where they are lost; false if nothing can be read now.
  /// Records may be added by other threads meanwhile.
  virtual bool Fetch() = 0;
};

}  // namespace msprobe
