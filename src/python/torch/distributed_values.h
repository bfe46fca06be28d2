#pragma once

#include <functional>
#include <optional>

#include "python/object.h"
#include "record/element.h"

namespace msprobe {

/// A process group, reduce operation or P2POp of torch.distributed as an element (dump_format.md 5); nothing for any
/// other value. `capture_tensor` describes the tensor of a P2POp. What cannot be found out is null. Throws PythonError.
std::optional<Element> CaptureDistributed(PyObject* value, const std::function<Element(PyObject*)>& capture_tensor);

/// Whether a coalescing manager of torch.distributed is open: calls inside it return before they are made.
bool IsCoalescing();

/// For its lifetime, on this thread, the buffer of a P2POp that receives is null: before the call it holds garbage.
class HiddenReceiveBuffers {
 public:
  HiddenReceiveBuffers() { hidden_ = true; }
  ~HiddenReceiveBuffers() { hidden_ = false; }
  HiddenReceiveBuffers(const HiddenReceiveBuffers&) = delete;
  HiddenReceiveBuffers& operator=(const HiddenReceiveBuffers&) = delete;

  static bool IsActive() { return hidden_; }

 private:
  static inline thread_local bool hidden_ = false;
};

}  // namespace msprobe
