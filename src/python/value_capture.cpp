#include "python/value_capture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "python/container_items.h"
#include "python/numpy_values.h"
#include "python/plain_values.h"

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

struct Leaving {
  ContainerPath& path;
  ~Leaving() { path.Leave(); }
};

}  // namespace

Element ValueCapture::CaptureTuple(PyObject* tuple, std::string_view record_name, std::string_view category) {
  ContainerPath path;
  return CaptureSequence(tuple, Stem(record_name, category, collector_.SavesTensors(record_name)), path);
}

Element ValueCapture::CaptureKeywords(PyObject* dict, std::string_view record_name) {
  if (dict == nullptr || dict == Py_None) {
    return Element(ElementObject{});
  }
  ContainerPath path;
  return CaptureKeyed(dict, Stem(record_name, "kwargs", collector_.SavesTensors(record_name)), path);
}

Element ValueCapture::CaptureParameters(PyObject* dict, std::string_view record_name) {
  ContainerPath path;
  Element parameters = CaptureKeyed(dict, Stem(record_name, "parameters", collector_.SavesTensors(record_name)), path);
  std::erase_if(std::get<ElementObject>(parameters.value), [](const Member& m) { return m.value.is_null(); });
  return parameters;
}

Element ValueCapture::CaptureOutput(PyObject* value, std::string_view record_name) {
  const std::string stem = Stem(record_name, "output", collector_.SavesTensors(record_name));
  ContainerPath path;
  if (PyTuple_Check(value) && !framework_.IsValue(value)) {
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
  if (framework_.IsTensor(value)) {
    return CaptureTensor(value, file_stem);
  }
  if ((PyTuple_Check(value) && !framework_.IsValue(value)) || PyList_Check(value)) {
    return CaptureSequence(value, file_stem, path);
  }
  const bool is_builtin =
      PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBool_Check(value);
  if (is_builtin) {
    return std::move(*CapturePlainValue(framework_, value, key));
  }
  if (std::optional<Element> numpy = CaptureNumpy(value, collector_, file_stem)) {
    return std::move(*numpy);
  }
  if (std::optional<Element> plain = CapturePlainValue(framework_, value, key)) {
    return std::move(*plain);
  }
  if (PyDict_CheckExact(value)) {
    return CaptureKeyed(value, file_stem, path);
  }
  if (std::optional<Element> element = framework_.ObjectValue(value, [&](PyObject* tensor) {
        std::string stem = file_stem;
        AppendPart(stem, "tensor");
        return CaptureValue(tensor, std::move(stem), {}, path);
      })) {
    return std::move(*element);
  }
  return CaptureKeyed(value, file_stem, path);
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

void ValueCapture::CountUnsupported(PyObject* value) {
  const std::string type = Py_TYPE(value)->tp_name;
  if (const auto known = unsupported_types_.find(type); known != unsupported_types_.end()) {
    ++known->second;
  } else if (unsupported_types_.size() < kMostTypes) {
    unsupported_types_.emplace(type, 1);
  }
}

namespace {

/// Texts of a dict's keys, for JSON and for file names. Two keys with one text (1 and "1") are told apart; so are the
/// files of {"a.b": x} and {"a": {"b": x}}.
class KeyTexts {
 public:
  struct Key {
    std::string text;
    std::string in_file;
  };
  explicit KeyTexts(PyObject* items) {
    bool may_clash = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); ++i) {
      PyObject* key = PyTuple_GET_ITEM(PyList_GET_ITEM(items, i), 0);
      std::string text = TextOf(key);
      may_clash = may_clash || PyUnicode_CheckExact(key) == 0 || text.find('.') != std::string::npos;
      keys_.push_back({text, text});
    }
    if (may_clash) {
      TellApart();
    }
  }
  Key& operator[](Py_ssize_t i) { return keys_[static_cast<std::size_t>(i)]; }

 private:
  void TellApart() {
    std::unordered_set<std::string> taken;
    for (Key& key : keys_) {
      const std::string text = key.text;
      for (int n = 2; !taken.insert(key.text).second; ++n) {
        key.text = text + "#" + std::to_string(n);
      }
      key.in_file = key.text;
    }
    for (Key& key : keys_) {
      for (std::size_t dot = key.text.find('.'); dot != std::string::npos; dot = key.text.find('.', dot + 1)) {
        if (taken.count(key.text.substr(0, dot)) != 0) {
          std::replace(key.in_file.begin(), key.in_file.end(), '.', '/');  // becomes '_', and the name gets a hash
          break;
        }
      }
    }
  }

  std::vector<Key> keys_;
};

}  // namespace

Element ValueCapture::CaptureKeyed(PyObject* value, const std::string& file_stem, ContainerPath& path) {
  const Object items = KeyedItems(value);
  if (!items) {
    CountUnsupported(value);
    return {};
  }
  if (!path.Enter(value)) {
    return {};
  }
  const Leaving leaving{path};
  ElementObject object;
  object.reserve(static_cast<std::size_t>(PyList_GET_SIZE(items.get())));
  KeyTexts keys(items.get());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()) && path.Spend(); ++i) {
    KeyTexts::Key& key = keys[i];
    std::string stem = file_stem;
    AppendPart(stem, key.in_file);
    Element part = CaptureValue(PyTuple_GET_ITEM(PyList_GET_ITEM(items.get(), i), 1), std::move(stem), key.text, path);
    object.push_back(Member{std::move(key.text), std::move(part)});
  }
  return Element(std::move(object));
}

Element ValueCapture::CaptureTensor(PyObject* tensor, std::string_view file_stem) {
  const std::optional<TensorMemory> memory = framework_.Memory(tensor);
  if (!memory) {
    return CaptureUnusualTensor(tensor, file_stem);
  }
  auto element = std::make_unique<TensorElement>();
  const TensorView& view = memory->view;
  element->shape.assign(view.shape.begin(), view.shape.end());
  collector_.Describe(*element, view, file_stem);
  framework_.Identify(tensor, view, *element);
  const std::int64_t offset = framework_.StorageOffset(tensor);
  if (offset != 0 || !IsContiguous(view)) {
    element->stride = std::vector<std::int64_t>(view.strides.begin(), view.strides.end());
    element->storage_offset = offset;
  }
  return Element(std::move(element));
}

Element ValueCapture::CaptureUnusualTensor(PyObject* tensor, std::string_view file_stem) {
  // describe() gives (type, dtype, shape, requires_grad, value, further keys or None, layout or None, failure or None,
  // zeros that are not among the value).
  Object facts = framework_.DescribeUnusual(
      tensor, collector_.makes_checksums() || !file_stem.empty() ? Py_None : devices_.starter());
  auto element = std::make_unique<TensorElement>();
  element->type = Utf8Text(PyTuple_GetItem(facts.get(), 0));
  element->dtype = Utf8Text(PyTuple_GetItem(facts.get(), 1));
  PyObject* shape = PyTuple_GetItem(facts.get(), 2);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    element->shape.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i)));
  }
  if (PyObject* requires_grad = PyTuple_GetItem(facts.get(), 3); requires_grad != Py_None) {
    element->requires_grad = requires_grad == Py_True;
  }
  PyObject* value = PyTuple_GetItem(facts.get(), 4);
  const bool is_late = value != nullptr && PyTuple_Check(value);
  std::optional<TensorMemory> memory = is_late || value == Py_None ? std::nullopt : framework_.MemoryOfValue(value);
  if (is_late) {
    devices_.Await(value, *element);
    collector_.AwaitStatistics(devices_);
  } else if (memory) {
    collector_.Describe(*element, memory->view, file_stem,
                        PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(facts.get(), 8)));
  } else {
    element->max = element->min = element->mean = element->norm = StatisticValue{};
  }
  if (PyObject* layout = PyTuple_GetItem(facts.get(), 6); layout != Py_None) {
    PyObject* strides = PyTuple_GetItem(layout, 0);
    element->stride.emplace();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(strides); ++i) {
      element->stride->push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i)));
    }
    element->storage_offset = PyLong_AsLongLong(PyTuple_GetItem(layout, 1));
  }
  devices_.Tell(PyTuple_GetItem(facts.get(), 7));
  PyObject* extra = PyTuple_GetItem(facts.get(), 5);
  if (PyDict_Check(extra)) {
    Element object = JsonElement(extra);
    element->extra = std::move(std::get<ElementObject>(object.value));
  }
  PyErr_Clear();
  return Element(std::move(element));
}

}  // namespace msprobe
