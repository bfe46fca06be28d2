#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"
#include "python/object.h"
#include "python/torch_access.h"
#include "record/element.h"

namespace msprobe {

/// Turns arguments, outputs and gradients into elements of the record model (dump_format.md 5), statistics included.
class ValueCapture {
 public:
  ValueCapture(const TorchAccess& torch, Collector& collector) : torch_(torch), collector_(collector) {}

  /// `file_stem`: what the names of tensor files begin with ("Torch.add.0.forward.input.0"), empty to save none;
  /// positions and keys of containers are appended to it. `key`: the keyword the value was passed under, empty for
  /// positions.
  Element Capture(PyObject* value, std::string file_stem, std::string_view key = {});

  /// The positional arguments or outputs of a call as a list: "input.0", "input.1", ...
  Element CaptureTuple(PyObject* tuple, std::string_view record_name, std::string_view category);
  /// Keyword arguments as an object: "kwargs.<keyword>". `dict` may be null or None.
  Element CaptureKeywords(PyObject* dict, std::string_view record_name);
  /// A return value: a tuple gives its elements, anything else is one output.
  Element CaptureOutput(PyObject* value, std::string_view record_name);

 private:
  Element CaptureTensor(PyObject* tensor, std::string_view file_stem);
  Element CaptureUnusualTensor(PyObject* tensor, std::string_view file_stem);
  Element CaptureSequence(PyObject* sequence, const std::string& file_stem);
  Element CaptureDict(PyObject* dict, const std::string& file_stem);
  Element CaptureOther(PyObject* value, const std::string& file_stem);
  Element CaptureNumpy(PyObject* value);

  const TorchAccess& torch_;
  Collector& collector_;
  int depth_ = 0;
};

/// Calls `visit(tensor)` for every tensor in `value`, containers depth-first in order.
template <typename Visit>
void ForEachTensor(const TorchAccess& torch, PyObject* value, const Visit& visit, int depth = 0) {
  constexpr int kDepthLimit = 400;
  if (value == nullptr || depth > kDepthLimit) {
    return;
  }
  if (torch.IsTensor(value)) {
    visit(value);
  } else if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      ForEachTensor(torch, PySequence_Fast_GET_ITEM(value, i), visit, depth + 1);
    }
  } else if (PyDict_Check(value)) {
    PyObject *key = nullptr, *item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &item) != 0) {
      ForEachTensor(torch, item, visit, depth + 1);
    }
  }
}

}  // namespace msprobe
