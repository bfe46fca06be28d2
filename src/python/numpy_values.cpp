#include "python/numpy_values.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/plain_values.h"

namespace msprobe {
namespace {

bool InheritsFrom(PyTypeObject* type, std::string_view name) {
  for (; type != nullptr; type = type->tp_base) {
    if (name == type->tp_name) {
      return true;
    }
  }
  return false;
}

bool IsText(PyObject* dtype) {
  const Object kind = Object::Steal(PyObject_GetAttrString(dtype, "kind"));
  PyErr_Clear();
  return kind && PyUnicode_Check(kind.get()) &&
         (PyUnicode_CompareWithASCIIString(kind.get(), "U") == 0 ||
          PyUnicode_CompareWithASCIIString(kind.get(), "S") == 0);
}

/// The memory of an array while it is looked at; none for text, objects and what else is no plain number.
class ArrayMemory {
 public:
  ArrayMemory(PyObject* array, DType dtype) {
    if (PyObject_GetBuffer(array, &buffer_, PyBUF_STRIDED_RO) != 0) {
      PyErr_Clear();
      return;
    }
    const auto size = static_cast<Py_ssize_t>(ItemSize(dtype));
    fits_ = buffer_.itemsize == size && reinterpret_cast<std::uintptr_t>(buffer_.buf) % ItemSize(dtype) == 0;
    for (int i = 0; i < buffer_.ndim; ++i) {
      shape_.push_back(buffer_.shape[i]);
      strides_.push_back(buffer_.strides[i] / size);
      fits_ = fits_ && buffer_.strides[i] % size == 0;
    }
    view_ = TensorView{buffer_.buf, dtype, shape_, strides_};
  }
  ~ArrayMemory() { PyBuffer_Release(&buffer_); }  // does nothing for a buffer that was not got
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  /// Null where the elements do not lie on multiples of their size.
  const TensorView* view() const { return fits_ ? &view_ : nullptr; }

 private:
  Py_buffer buffer_{};
  bool fits_ = false;
  std::vector<std::int64_t> shape_, strides_;
  TensorView view_;
};

void DescribeNumbers(PyObject* array, DType dtype, Collector& collector, std::string_view file_stem,
                     TensorElement& element) {
  const ArrayMemory memory(array, dtype);
  if (memory.view() != nullptr) {
    collector.Describe(element, *memory.view(), file_stem);
    return;
  }
  const Object copy = Object::Steal(PyObject_CallMethod(array, "copy", nullptr));  // fields of records, for example
  PyErr_Clear();
  if (copy) {
    const ArrayMemory aligned(copy.get(), dtype);
    if (aligned.view() != nullptr) {
      collector.Describe(element, *aligned.view(), file_stem);
    }
  }
}

/// Text has no statistics, but a file: what numpy itself would write.
void SaveText(PyObject* array, Collector& collector, std::string_view file_stem, TensorElement& element) {
  const Object io = Checked(PyImport_ImportModule("io"));
  const Object file = Checked(PyObject_CallMethod(io.get(), "BytesIO", nullptr));
  const Object numpy = Checked(PyImport_ImportModule("numpy"));
  Checked(PyObject_CallMethod(numpy.get(), "save", "OOO", file.get(), array, Py_False));  // no pickles
  const Object content = Checked(PyObject_CallMethod(file.get(), "getvalue", nullptr));
  collector.SaveContent(element,
                        {PyBytes_AS_STRING(content.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(content.get()))},
                        file_stem);
}

Element Array(PyObject* array, Collector& collector, std::string_view file_stem) {
  auto element = std::make_unique<TensorElement>();
  element->type = "numpy.ndarray";
  Object dtype = Checked(PyObject_GetAttrString(array, "dtype"));
  element->dtype = TextOf(dtype.get());
  Object shape = Checked(PyObject_GetAttrString(array, "shape"));
  for (Py_ssize_t i = 0; PyTuple_Check(shape.get()) && i < PyTuple_GET_SIZE(shape.get()); ++i) {
    element->shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape.get(), i)));
  }
  element->max = element->min = element->mean = element->norm = StatisticValue{};
  if (const std::optional<DType> known = ParseDType(element->dtype)) {
    DescribeNumbers(array, *known, collector, file_stem, *element);
  } else if (!file_stem.empty() && IsText(dtype.get())) {
    SaveText(array, collector, file_stem, *element);
  }
  return Element(std::move(element));
}

/// The class name without its module, the value as a builtin.
Element Scalar(PyObject* value) {
  const Object builtin = Object::Steal(PyObject_CallMethod(value, "item", nullptr));
  PyErr_Clear();
  auto typed = std::make_unique<TypedElement>();
  if (!builtin) {
    return {};
  }
  if (PyBool_Check(builtin.get())) {
    typed->value = Element(builtin.get() == Py_True);
  } else if (PyLong_Check(builtin.get())) {
    typed->value = IntegerElement(builtin.get());
  } else if (PyFloat_Check(builtin.get())) {
    typed->value = Element(PyFloat_AS_DOUBLE(builtin.get()));
  } else if (PyUnicode_Check(builtin.get())) {
    typed->value = Element(Utf8Text(builtin.get()));
  } else {
    return {};  // complex numbers, dates
  }
  const std::string_view name = Py_TYPE(value)->tp_name;
  typed->type = name.substr(name.rfind('.') + 1);
  if (typed->type == "bool") {  // numpy 2
    typed->type = "bool_";
  }
  return Element(std::move(typed));
}

}  // namespace

std::optional<Element> CaptureNumpy(PyObject* value, Collector& collector, std::string_view file_stem) {
  PyTypeObject* type = Py_TYPE(value);
  if (InheritsFrom(type, "numpy.ndarray")) {
    return Array(value, collector, file_stem);
  }
  if (std::string_view(type->tp_name).starts_with("numpy.") && PyObject_HasAttrString(value, "dtype") != 0) {
    return Scalar(value);
  }
  return std::nullopt;
}

}  // namespace msprobe
