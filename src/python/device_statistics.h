#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "collect/late_statistics.h"
#include "python/framework_access.h"
#include "python/object.h"
#include "record/element.h"

namespace msprobe {

/// Statistics of tensors on devices (msprobe.pytorch.device_stats): begun there when a call is recorded, read together.
class DeviceStatistics : public LateStatistics {
 public:
  /// `on_failure` is called with a pending Python exception that says why statistics are unknown.
  DeviceStatistics(const FrameworkAccess& framework, std::function<void()> on_failure)
      : framework_(framework), on_failure_(std::move(on_failure)) {}

  /// The Python object that `describe` begins them with. Throws PythonError.
  PyObject* starter();
  /// `begun`: what the starter returned for a tensor. Its statistics appear in `tensor.late` with the next Fetch.
  void Await(PyObject* begun, TensorElement& tensor);
  /// Tells a line of text that came in their place; an empty one was told before.
  void Tell(PyObject* text);

  std::size_t waiting() const override { return waiting_.size(); }
  bool Fetch() override;

 private:
  struct Waiting {
    Object begun;
    std::shared_ptr<std::optional<Statistics>> result;
  };
  bool Read(const std::vector<Waiting>& waiting);

  const FrameworkAccess& framework_;
  std::function<void()> on_failure_;
  Object starter_;
  std::vector<Waiting> waiting_;
};

}  // namespace msprobe
