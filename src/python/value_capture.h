#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"
#include "python/container_items.h"
#include "python/container_path.h"
#include "python/device_statistics.h"
#include "python/framework_access.h"
#include "python/object.h"
#include "record/element.h"

namespace msprobe {

/// Turns arguments, outputs and gradients into elements of the record model (dump_format.md 5), statistics included.
class ValueCapture {
 public:
  /// `on_failure` is called with the pending Python exception of a value that could not be described; it is null in the
  /// record then, and the rest of the record is as it would be.
  ValueCapture(const FrameworkAccess& framework, Collector& collector, std::function<void()> on_failure)
      : framework_(framework),
        collector_(collector),
        on_failure_(on_failure),
        devices_(framework, std::move(on_failure)) {}

  /// One value. `file_stem`: what the names of tensor files begin with ("Torch.add.0.backward.input.0"), empty to save
  /// none; positions and keys of containers are appended to it.
  Element Capture(PyObject* value, std::string file_stem);

  /// The positional arguments or outputs of a call as a list: "input.0", "input.1", ...
  Element CaptureTuple(PyObject* tuple, std::string_view record_name, std::string_view category);
  /// Keyword arguments as an object: "kwargs.<keyword>". `dict` may be null or None.
  Element CaptureKeywords(PyObject* dict, std::string_view record_name);
  /// A module's own parameters as an object: "parameters.<name>"; those that are None are left out.
  Element CaptureParameters(PyObject* dict, std::string_view record_name);
  /// A return value: a tuple gives its elements, anything else is one output.
  Element CaptureOutput(PyObject* value, std::string_view record_name);

  /// Values that are null in the records because nothing is known of their type: how many of each. The first types
  /// only.
  const std::map<std::string, std::uint64_t>& unsupported_types() const { return unsupported_types_; }

 private:
  static constexpr std::size_t kMostTypes = 50;
  void CountUnsupported(PyObject* value);
  /// `key`: the keyword the value was passed under, empty for positions.
  Element CaptureValue(PyObject* value, std::string file_stem, std::string_view key, ContainerPath& path);
  Element CaptureUnguarded(PyObject* value, const std::string& file_stem, std::string_view key, ContainerPath& path);
  Element CaptureTensor(PyObject* tensor, std::string_view file_stem);
  Element CaptureUnusualTensor(PyObject* tensor, std::string_view file_stem);
  Element CaptureSequence(PyObject* sequence, const std::string& file_stem, ContainerPath& path);
  /// A dict, other mapping or dataclass as an object; anything else is null.
  Element CaptureKeyed(PyObject* value, const std::string& file_stem, ContainerPath& path);

  const FrameworkAccess& framework_;
  Collector& collector_;
  std::function<void()> on_failure_;
  std::map<std::string, std::uint64_t> unsupported_types_;
  DeviceStatistics devices_;
};

/// Part of ForEachTensor.
template <typename Visit>
void VisitTensors(const FrameworkAccess& framework, PyObject* value, const Visit& visit, ContainerPath& path) {
  if (framework.IsTensor(value)) {
    visit(value);
    return;
  }
  const bool is_sequence = PyTuple_Check(value) || PyList_Check(value);
  Object items;
  if (!is_sequence && !PyDict_CheckExact(value)) {
    try {
      items = KeyedItems(value);
    } catch (const PythonError&) {
      if (IsInterrupt()) {
        throw;
      }
      PyErr_Clear();
    }
    if (!items) {
      return;
    }
  }
  if (!path.Enter(value)) {
    return;
  }
  if (is_sequence) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && path.Spend(); ++i) {
      const Object item = Object::Borrow(PySequence_Fast_GET_ITEM(value, i));
      VisitTensors(framework, item.get(), visit, path);
    }
  } else if (items) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()) && path.Spend(); ++i) {
      VisitTensors(framework, PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), i), 1), visit, path);
    }
  } else {
    PyObject *key = nullptr, *item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &item) != 0 && path.Spend()) {
      const Object owned = Object::Borrow(item);
      VisitTensors(framework, owned.get(), visit, path);
    }
  }
  path.Leave();
}

/// Calls `visit(tensor)` for every tensor in `value`, containers depth-first in order; `value` may be null. The same
/// tensors in the same order as ValueCapture describes.
template <typename Visit>
void ForEachTensor(const FrameworkAccess& framework, PyObject* value, const Visit& visit) {
  if (value != nullptr) {
    ContainerPath path;
    VisitTensors(framework, value, visit, path);
  }
}

}  // namespace msprobe
