#include "python/plain_values.h"

#include <limits>
#include <memory>
#include <utility>

namespace msprobe {
namespace {

bool IsSymbolic(PyObject* value) {
  const std::string_view name = Py_TYPE(value)->tp_name;
  return name == "SymInt" || name == "SymFloat" || name == "SymBool";
}

/// What a symbolic number was traced with, or None.
Object Hint(PyObject* symbolic) {
  Object node = Object::Steal(PyObject_GetAttrString(symbolic, "node"));
  Object has_hint = node ? Object::Steal(PyObject_CallMethod(node.get(), "has_hint", nullptr)) : Object();
  Object hint = has_hint.get() == Py_True ? Object::Steal(PyObject_GetAttrString(node.get(), "hint")) : Object();
  PyErr_Clear();
  const bool is_number = hint && (PyLong_Check(hint.get()) || PyFloat_Check(hint.get()));
  return is_number ? hint : Object::Borrow(Py_None);
}

Element TypedInteger(PyObject* number) {
  auto typed = std::make_unique<TypedElement>();
  typed->type = "int";
  typed->value = IntegerElement(number);
  return Element(std::move(typed));
}

Element SymbolicElement(PyObject* value) {
  const Object hint = Hint(value);
  if (PyBool_Check(hint.get())) {
    return Typed("bool", hint.get() == Py_True);
  }
  if (PyFloat_Check(hint.get())) {
    return Typed("float", PyFloat_AS_DOUBLE(hint.get()));
  }
  return hint.get() == Py_None ? Element() : TypedInteger(hint.get());
}

Element Slice(PyObject* value) {
  const auto* slice = reinterpret_cast<const PySliceObject*>(value);
  ElementList parts;
  parts.push_back(IndexElement(slice->start));
  parts.push_back(IndexElement(slice->stop));
  parts.push_back(IndexElement(slice->step));
  return Typed("slice", std::move(parts));
}

}  // namespace

std::string Utf8Text(PyObject* unicode) {
  Py_ssize_t size = 0;
  if (const char* text = PyUnicode_AsUTF8AndSize(unicode, &size)) {
    return {text, static_cast<std::size_t>(size)};
  }
  PyErr_Clear();
  Object bytes = Checked(PyUnicode_AsEncodedString(unicode, "utf-8", "replace"));
  return {PyBytes_AS_STRING(bytes.get()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get()))};
}

std::string TextOf(PyObject* object) {
  Object text = Checked(PyObject_Str(object));
  return Utf8Text(text.get());
}

Element IntegerElement(PyObject* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    return Element(static_cast<std::int64_t>(value));
  }
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() == nullptr) {
      return Element(static_cast<std::uint64_t>(large));
    }
    PyErr_Clear();
  }
  const double inexact = PyLong_AsDouble(number);
  if (PyErr_Occurred() == nullptr) {
    return Element(inexact);
  }
  PyErr_Clear();
  const double infinity = std::numeric_limits<double>::infinity();
  return Element(overflow > 0 ? infinity : -infinity);
}

Element IndexElement(PyObject* value) {
  if (value == Py_None) {
    return {};
  }
  const Object hint = IsSymbolic(value) ? Hint(value) : Object::Borrow(value);
  Object number = Object::Steal(PyNumber_Index(hint.get()));
  if (!number) {
    PyErr_Clear();
    return {};
  }
  return IntegerElement(number.get());
}

Element JsonElement(PyObject* value) {
  if (PyBool_Check(value)) {
    return Element(value == Py_True);
  }
  if (PyLong_Check(value)) {
    return IntegerElement(value);
  }
  if (PyFloat_Check(value)) {
    return Element(PyFloat_AS_DOUBLE(value));
  }
  if (PyUnicode_Check(value)) {
    return Element(Utf8Text(value));
  }
  if (PyList_Check(value) || PyTuple_Check(value)) {
    ElementList list;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      list.push_back(JsonElement(PySequence_Fast_GET_ITEM(value, i)));
    }
    return Element(std::move(list));
  }
  if (PyDict_Check(value)) {
    ElementObject object;
    PyObject *key = nullptr, *part = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &part) != 0) {
      object.push_back(Member{TextOf(key), JsonElement(part)});
    }
    return Element(std::move(object));
  }
  return {};
}

std::optional<Element> CapturePlainValue(const FrameworkAccess& framework, PyObject* value, std::string_view key) {
  if (std::optional<Element> special = framework.PlainValue(value, key)) {
    return special;
  }
  if (PyBool_Check(value)) {
    return Typed("bool", value == Py_True);
  }
  if (PyUnicode_CheckExact(value)) {
    return Typed("str", Utf8Text(value));
  }
  if (PySlice_Check(value)) {
    return Slice(value);
  }
  if (value == Py_Ellipsis) {
    return Typed("ellipsis", std::string("..."));
  }
  if (PyComplex_Check(value)) {
    ElementList parts;
    parts.emplace_back(PyComplex_RealAsDouble(value));
    parts.emplace_back(PyComplex_ImagAsDouble(value));
    return Typed("complex", std::move(parts));
  }
  // An enum or other subclass of a number or text counts as one.
  if (PyLong_Check(value)) {
    return TypedInteger(value);
  }
  if (PyFloat_Check(value)) {
    return Typed("float", PyFloat_AsDouble(value));
  }
  if (PyUnicode_Check(value)) {
    return Typed("str", Utf8Text(value));
  }
  if (IsSymbolic(value)) {
    return SymbolicElement(value);
  }
  return std::nullopt;
}

}  // namespace msprobe
