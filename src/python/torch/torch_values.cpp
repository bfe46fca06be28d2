#include <array>
#include <string>
#include <utility>

#include "python/plain_values.h"
#include "python/torch/distributed_values.h"
#include "python/torch/torch_access.h"

namespace msprobe {
namespace {

/// torch takes Python's number types as dtypes.
std::string DtypeName(PyObject* value) {
  const std::array<std::pair<PyTypeObject*, const char*>, 4> python = {{{&PyFloat_Type, "torch.float64"},
                                                                        {&PyLong_Type, "torch.int64"},
                                                                        {&PyBool_Type, "torch.bool"},
                                                                        {&PyComplex_Type, "torch.complex128"}}};
  for (const auto& [type, name] : python) {
    if (value == reinterpret_cast<PyObject*>(type)) {
      return name;
    }
  }
  return TextOf(value);
}

std::optional<Element> UnderKeyword(PyObject* value, std::string_view key) {
  const bool is_text = PyUnicode_Check(value);
  const bool is_number = PyLong_Check(value) && !PyBool_Check(value);
  if (key == "device" && (is_text || is_number)) {
    return Typed("torch.device", TextOf(value));
  }
  if ((key == "dtype" || key == "output_dtype") && (is_text || is_number || PyType_Check(value))) {
    return Typed("torch.dtype", DtypeName(value));
  }
  return std::nullopt;
}

Element Size(PyObject* value) {
  ElementList sizes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
    sizes.push_back(IndexElement(PyTuple_GET_ITEM(value, i)));
  }
  return Typed("torch.Size", std::move(sizes));
}

Element MemoryFormat(PyObject* value) {
  std::string text = TextOf(value);
  if (const std::size_t dot = text.rfind('.'); dot != std::string::npos) {
    text.erase(0, dot + 1);
  }
  ElementObject object;
  object.push_back(Member{"type", Element(std::string("torch.memory_format"))});
  object.push_back(Member{"format", Element(std::move(text))});
  return Element(std::move(object));
}

}  // namespace

std::optional<Element> TorchAccess::PlainValue(PyObject* value, std::string_view key) const {
  if (!key.empty()) {
    if (std::optional<Element> element = UnderKeyword(value, key)) {
      return element;
    }
  }
  PyTypeObject* type = Py_TYPE(value);
  if (type == size_type_) {
    return Size(value);
  }
  if (type == dtype_type_) {
    return Typed("torch.dtype", TextOf(value));
  }
  if (type == device_type_) {
    return Typed("torch.device", TextOf(value));
  }
  if (std::string_view(type->tp_name) == "torch.memory_format") {
    return MemoryFormat(value);
  }
  return std::nullopt;
}

std::optional<Element> TorchAccess::ObjectValue(PyObject* value,
                                                const std::function<Element(PyObject*)>& capture) const {
  return CaptureDistributed(value, capture);
}

}  // namespace msprobe
