#include "python/value_capture.h"

#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace msprobe {
namespace {

void AppendPart(std::string& stem, std::string_view part) {
  if (!stem.empty()) {
    stem.append(1, '.').append(part);
  }
}

void AppendPart(std::string& stem, Py_ssize_t position) {
  std::array<char, 24> digits;  // NOLINT: filled below
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), position).ptr;
  AppendPart(stem, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

std::string Stem(std::string_view record_name, std::string_view category, bool saves) {
  if (!saves) {
    return {};
  }
  std::string stem(record_name);
  return stem.append(1, '.').append(category);
}

/// UTF-8 text; surrogates become '?'.
std::string Text(PyObject* unicode) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(unicode, &size)) {
    return {text, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();
  Object bytes = Checked(PyUnicode_AsEncodedString(unicode, "utf-8", "replace"));
  return {PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

std::string StrOf(PyObject* object) {
  Object text = Checked(PyObject_Str(object));
  return Text(text.get());
}

/// A Python int as the smallest kind that holds it; beyond 64 bits as double, as a JSON reader would.
Element Integer(PyObject* value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) {
    return Element(static_cast<std::int64_t>(number));
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() == nullptr) {
      return Element(static_cast<std::uint64_t>(large));
    }
    PyErr_Clear();
  }
  const double inexact = PyLong_AsDouble(value);
  if (PyErr_Occurred() == nullptr) {
    return Element(inexact);
  }
  PyErr_Clear();
  const double infinity = std::numeric_limits<double>::infinity();
  return Element(overflow > 0 ? infinity : -infinity);
}

/// Anything with __index__ as an integer, else null: slice ends may be numpy integers or tensors.
Element Index(PyObject* value) {
  if (value == Py_None) {
    return {};
  }
  Object number = Object::Steal(PyNumber_Index(value));
  if (!number) {
    PyErr_Clear();
    return {};
  }
  return Integer(number.get());
}

struct Leaving {
  ContainerPath& path;
  ~Leaving() { path.Leave(); }
};

StatisticValue StatisticOf(PyObject* value) {
  if (value == Py_None) {
    return {};
  }
  if (PyBool_Check(value)) {
    return value == Py_True;
  }
  if (PyLong_Check(value)) {
    const long long number = PyLong_AsLongLong(value);
    PyErr_Clear();
    return static_cast<std::int64_t>(number);
  }
  const double number = PyFloat_AsDouble(value);
  PyErr_Clear();
  return number;
}

}  // namespace

Element ValueCapture::CaptureTuple(PyObject* tuple, std::string_view record_name, std::string_view category) {
  ContainerPath path;
  return CaptureSequence(tuple, Stem(record_name, category, collector_.saves_tensors()), path);
}

Element ValueCapture::CaptureKeywords(PyObject* dict, std::string_view record_name) {
  if (dict == nullptr || dict == Py_None) {
    return Element(ElementObject{});
  }
  ContainerPath path;
  return CaptureDict(dict, Stem(record_name, "kwargs", collector_.saves_tensors()), path);
}

Element ValueCapture::CaptureOutput(PyObject* value, std::string_view record_name) {
  const std::string stem = Stem(record_name, "output", collector_.saves_tensors());
  ContainerPath path;
  if (PyTuple_Check(value) && Py_TYPE(value) != torch_.size_type()) {
    return CaptureSequence(value, stem, path);
  }
  std::string first = stem;
  AppendPart(first, Py_ssize_t{0});
  ElementList list;
  list.push_back(CaptureValue(value, std::move(first), {}, path));
  return Element(std::move(list));
}

Element ValueCapture::Capture(PyObject* value, std::string file_stem) {
  ContainerPath path;
  return CaptureValue(value, std::move(file_stem), {}, path);
}

Element ValueCapture::CaptureValue(PyObject* value, std::string file_stem, std::string_view key, ContainerPath& path) {
  try {
    return CaptureUnguarded(value, file_stem, key, path);
  } catch (const PythonError&) {
    if (IsInterrupt()) {
      throw;
    }
    on_failure_();
    return {};
  }
}

Element ValueCapture::CaptureUnguarded(PyObject* value, const std::string& file_stem, std::string_view key,
                                       ContainerPath& path) {
  if (value == Py_None) {
    return {};
  }
  if (torch_.IsTensor(value)) {
    return CaptureTensor(value, file_stem);
  }
  if (PyBool_Check(value)) {
    return Typed("bool", value == Py_True);
  }
  if (PyLong_CheckExact(value)) {
    if (key == "device") {
      return Typed("torch.device", StrOf(value));
    }
    auto typed = std::make_unique<TypedElement>();
    typed->type = "int";
    typed->value = Integer(value);
    return Element(std::move(typed));
  }
  if (PyFloat_CheckExact(value)) {
    return Typed("float", PyFloat_AS_DOUBLE(value));
  }
  if (PyUnicode_Check(value)) {
    return Typed(key == "device" ? "torch.device" : "str", Text(value));
  }
  if (Py_TYPE(value) == torch_.size_type()) {
    ElementList sizes;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      sizes.push_back(Index(PyTuple_GET_ITEM(value, i)));
    }
    return Typed("torch.Size", std::move(sizes));
  }
  if (PyTuple_Check(value) || PyList_Check(value)) {
    return CaptureSequence(value, file_stem, path);
  }
  if (PyDict_Check(value)) {
    return CaptureDict(value, file_stem, path);
  }
  return CaptureOther(value, file_stem, path);
}

Element ValueCapture::CaptureSequence(PyObject* sequence, const std::string& file_stem, ContainerPath& path) {
  if (!path.Enter(sequence)) {
    return {};
  }
  const Leaving leaving{path};
  ElementList list;
  list.reserve(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence)));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence) && path.Spend(); ++i) {
    std::string stem = file_stem;
    AppendPart(stem, i);
    // The list may shrink or its item may go while user code runs inside an item's description.
    Object item = Object::Borrow(PySequence_Fast_GET_ITEM(sequence, i));
    list.push_back(CaptureValue(item.get(), std::move(stem), {}, path));
  }
  return Element(std::move(list));
}

Element ValueCapture::CaptureDict(PyObject* dict, const std::string& file_stem, ContainerPath& path) {
  if (!path.Enter(dict)) {
    return {};
  }
  const Leaving leaving{path};
  Object items = Checked(PyDict_Items(dict));
  ElementObject object;
  object.reserve(static_cast<std::size_t>(PyList_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()) && path.Spend(); ++i) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    std::string key = StrOf(PyTuple_GET_ITEM(pair, 0));
    std::string stem = file_stem;
    AppendPart(stem, key);
    Element value = CaptureValue(PyTuple_GET_ITEM(pair, 1), std::move(stem), key, path);
    object.push_back(Member{std::move(key), std::move(value)});
  }
  return Element(std::move(object));
}

Element ValueCapture::CaptureTensor(PyObject* tensor, std::string_view file_stem) {
  const std::optional<TensorMemory> memory = torch_.Memory(tensor);
  if (!memory) {
    return CaptureUnusualTensor(tensor, file_stem);
  }
  auto element = std::make_unique<TensorElement>();
  const TensorView& view = memory->view;
  element->dtype = TorchName(view.dtype);
  element->shape.assign(view.shape.begin(), view.shape.end());
  collector_.Describe(*element, view, file_stem);
  element->requires_grad = torch_.RequiresGrad(tensor);
  const std::int64_t offset = torch_.StorageOffset(tensor);
  if (offset != 0 || !IsContiguous(view)) {
    element->stride = std::vector<std::int64_t>(view.strides.begin(), view.strides.end());
    element->storage_offset = offset;
  }
  return Element(std::move(element));
}

Element ValueCapture::CaptureUnusualTensor(PyObject* tensor, std::string_view file_stem) {
  // describe() gives (type, dtype, shape, requires_grad, plain host tensor or None, further keys or None).
  Object facts = torch_.DescribeUnusual(tensor);
  auto element = std::make_unique<TensorElement>();
  element->type = Text(PyTuple_GetItem(facts.get(), 0));
  element->dtype = Text(PyTuple_GetItem(facts.get(), 1));
  PyObject* shape = PyTuple_GetItem(facts.get(), 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    element->shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i)));
  }
  element->requires_grad = PyTuple_GetItem(facts.get(), 3) == Py_True;
  PyObject* host = PyTuple_GetItem(facts.get(), 4);
  std::optional<TensorMemory> memory = host == Py_None ? std::nullopt : torch_.Memory(host);
  if (memory) {
    collector_.Describe(*element, memory->view, file_stem);
  } else {
    element->max = element->min = element->mean = element->norm = StatisticValue{};
  }
  PyObject* extra = PyTuple_GetItem(facts.get(), 5);
  if (extra != Py_None) {
    ContainerPath path;
    Element object = CaptureDict(extra, {}, path);
    element->extra = std::move(std::get<ElementObject>(object.value));
  }
  PyErr_Clear();
  return Element(std::move(element));
}

Element ValueCapture::CaptureOther(PyObject* value, const std::string& file_stem, ContainerPath& path) {
  PyTypeObject* type = Py_TYPE(value);
  if (type == torch_.dtype_type()) {
    return Typed("torch.dtype", StrOf(value));
  }
  if (type == torch_.device_type()) {
    return Typed("torch.device", StrOf(value));
  }
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<const PySliceObject*>(value);
    ElementList parts;
    parts.push_back(Index(slice->start));
    parts.push_back(Index(slice->stop));
    parts.push_back(Index(slice->step));
    return Typed("slice", std::move(parts));
  }
  if (value == Py_Ellipsis) {
    return Typed("ellipsis", std::string("..."));
  }
  const std::string_view type_name = type->tp_name;
  if (type_name == "torch.memory_format") {
    std::string text = StrOf(value);
    if (const std::size_t dot = text.rfind('.'); dot != std::string::npos) {
      text.erase(0, dot + 1);
    }
    ElementObject object;
    object.push_back(Member{"type", Element(std::string("torch.memory_format"))});
    object.push_back(Member{"format", Element(std::move(text))});
    return Element(std::move(object));
  }
  if (type_name.starts_with("numpy.")) {
    return CaptureNumpy(value);
  }
  if (PyLong_Check(value)) {  // an enum or other subclass of int
    auto typed = std::make_unique<TypedElement>();
    typed->type = "int";
    typed->value = Integer(value);
    return Element(std::move(typed));
  }
  if (PyFloat_Check(value)) {
    return Typed("float", PyFloat_AsDouble(value));
  }
  // Of the type: an object that makes up attributes (a tracer's proxy) is no dataclass.
  Object fields = Object::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dataclass_fields__"));
  if (fields && PyDict_Check(fields.get())) {
    Object dict = Object::Steal(PyObject_GetAttrString(value, "__dict__"));
    if (dict && PyDict_Check(dict.get())) {
      return CaptureDict(dict.get(), file_stem, path);
    }
  }
  PyErr_Clear();
  return {};
}

Element ValueCapture::CaptureNumpy(PyObject* value) {
  const std::string_view type_name = Py_TYPE(value)->tp_name;
  Object dtype = Object::Steal(PyObject_GetAttrString(value, "dtype"));
  if (type_name == "numpy.ndarray") {
    ElementObject object;
    object.push_back(Member{"type", Element(std::string(type_name))});
    object.push_back(Member{"dtype", Element(dtype ? StrOf(dtype.get()) : std::string())});
    ElementList sizes;
    bool is_empty = false;
    if (Object shape = Object::Steal(PyObject_GetAttrString(value, "shape")); shape && PyTuple_Check(shape.get())) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.get()); ++i) {
        sizes.push_back(Index(PyTuple_GET_ITEM(shape.get(), i)));
        is_empty = is_empty || sizes.back() == Element(std::int64_t{0});
      }
    }
    object.push_back(Member{"shape", Element(std::move(sizes))});
    for (const char* name : {"max", "min", "mean"}) {
      // numpy warns on standard error of the mean of nothing.
      Object result = is_empty ? Object() : Object::Steal(PyObject_CallMethod(value, name, nullptr));
      Object number = result ? Object::Steal(PyObject_CallMethod(result.get(), "item", nullptr)) : Object();
      PyErr_Clear();  // text and objects have none
      const StatisticValue statistic = number && (PyFloat_Check(number.get()) || PyLong_Check(number.get()))
                                           ? StatisticOf(number.get())
                                           : StatisticValue{};
      Element element = std::visit(
          [](const auto& v) -> Element {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
              return {};
            } else {
              return Element(v);
            }
          },
          statistic);
      const char* key = name[1] == 'a' ? "Max" : name[1] == 'i' ? "Min" : "Mean";
      object.push_back(Member{key, std::move(element)});
    }
    object.push_back(Member{"Norm", Element()});
    return Element(std::move(object));
  }
  // A numpy scalar: the class name without its module, the value as a builtin.
  Object builtin = Object::Steal(PyObject_CallMethod(value, "item", nullptr));
  if (!builtin) {
    PyErr_Clear();
    return {};
  }
  std::string name(type_name.substr(type_name.rfind('.') + 1));
  auto typed = std::make_unique<TypedElement>();
  typed->type = std::move(name);
  if (PyBool_Check(builtin.get())) {
    typed->value = Element(builtin.get() == Py_True);
  } else if (PyLong_Check(builtin.get())) {
    typed->value = Integer(builtin.get());
  } else if (PyFloat_Check(builtin.get())) {
    typed->value = Element(PyFloat_AS_DOUBLE(builtin.get()));
  } else if (PyUnicode_Check(builtin.get())) {
    typed->value = Element(Text(builtin.get()));
  }
  return Element(std::move(typed));
}

}  // namespace msprobe
