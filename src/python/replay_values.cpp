#include "python/replay_values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace nb = nanobind;

namespace msprobe {
namespace {

constexpr int kMaxDepth = 400;

std::string Text(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

DType ReadDType(nb::handle tensor) {
  const std::string text = Text(tensor.attr("dtype"));
  const auto dtype = ParseDType(text);
  if (!dtype) throw nb::value_error(("tensors of dtype " + text + " cannot be compared").c_str());
  return *dtype;
}

std::vector<std::int64_t> ReadIntegers(nb::handle sequence) {
  std::vector<std::int64_t> integers;
  for (nb::handle item : sequence) integers.push_back(nb::cast<std::int64_t>(item));
  return integers;
}

void RequireHost(nb::handle tensor) {
  if (Text(tensor.attr("device").attr("type")) != "cpu") throw nb::value_error("a tensor is not in host memory");
}

HostTensor ReadTensor(nb::handle tensor) {
  RequireHost(tensor);
  HostTensor host;
  host.dtype = ReadDType(tensor);
  host.shape = ReadIntegers(tensor.attr("shape"));
  host.strides = ReadIntegers(tensor.attr("stride")());
  host.data = reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
  if (host.data == nullptr && ElementCount(host.view()) > 0) throw nb::value_error("a tensor has no memory");
  return host;
}

nb::object Checked(PyObject* object) {
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

}  // namespace

ReplayValues::ReplayValues(nb::handle torch) : torch_(nb::borrow(torch)), tensor_type_(torch.attr("Tensor")) {}

nb::object ReplayValues::Make(const Argument& argument, const nb::list& tensors, nb::handle device) const {
  using Kind = Argument::Kind;
  switch (argument.kind) {
    case Kind::kNone:
      return nb::none();
    case Kind::kBool:
      return nb::bool_(argument.boolean);
    case Kind::kInteger:
      return nb::int_(argument.integer);
    case Kind::kUnsigned:
      return nb::int_(argument.unsigned_integer);
    case Kind::kFloat:
      return nb::float_(argument.number);
    case Kind::kString:
      // Text of a damaged dump may be no UTF-8.
      return Checked(
          PyUnicode_DecodeUTF8(argument.text.data(), static_cast<Py_ssize_t>(argument.text.size()), "replace"));
    case Kind::kTensor:
      return nb::borrow(tensors[argument.tensor]);
    case Kind::kEllipsis:
      return nb::ellipsis();
    case Kind::kComplex:
      return Checked(PyComplex_FromDoubles(argument.items[0].number, argument.items[1].number));
    case Kind::kDType:
      return torch_.attr(device.is_none() && !argument.bench_text.empty() ? argument.bench_text.c_str()
                                                                          : argument.text.c_str());
    case Kind::kMemoryFormat:
      return torch_.attr(argument.text.c_str());
    case Kind::kDevice:
      return device.is_none() ? nb::object(nb::str("cpu")) : nb::borrow(device);
    case Kind::kSlice: {
      nb::object parts[3];
      for (std::size_t i = 0; i < 3; ++i) parts[i] = Make(argument.items[i], tensors, device);
      return Checked(PySlice_New(parts[0].ptr(), parts[1].ptr(), parts[2].ptr()));
    }
    case Kind::kDict: {
      nb::dict dict;
      for (std::size_t i = 0; i < argument.items.size(); ++i) {
        dict[argument.keys[i].c_str()] = Make(argument.items[i], tensors, device);
      }
      return dict;
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kSize:
      break;
  }
  nb::list list;
  for (const Argument& item : argument.items) list.append(Make(item, tensors, device));
  if (argument.kind == Kind::kTuple) return nb::tuple(list);
  if (argument.kind == Kind::kSize) return torch_.attr("Size")(list);
  return list;
}

OutputValue ReplayValues::Read(nb::handle value, int depth) const {
  using Kind = OutputValue::Kind;
  OutputValue result;
  if (depth > kMaxDepth) throw nb::value_error("an output is nested deeper than 400 levels");
  if (value.is_none()) return result;
  if (nb::isinstance(value, tensor_type_)) {
    result.kind = Kind::kTensor;
    result.tensor = ReadTensor(value);
  } else if (PyBool_Check(value.ptr())) {
    result.kind = Kind::kBool;
    result.boolean = value.ptr() == Py_True;
  } else if (PyLong_Check(value.ptr())) {
    result.kind = Kind::kInteger;
    result.text = Text(value);
  } else if (PyFloat_Check(value.ptr())) {
    result.kind = Kind::kFloat;
    result.number = nb::cast<double>(value);
  } else if (PyUnicode_Check(value.ptr())) {
    result.kind = Kind::kString;
    result.text = nb::cast<std::string>(value);
  } else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    result.kind = Kind::kSequence;
    for (nb::handle item : value) result.items.push_back(Read(item, depth + 1));
  } else if (PyDict_Check(value.ptr())) {
    result.kind = Kind::kMapping;
    for (auto [key, item] : nb::borrow<nb::dict>(value)) {
      result.keys.push_back(Text(key));
      result.items.push_back(Read(item, depth + 1));
    }
  } else {
    result.kind = Kind::kOther;
    result.text = nb::cast<std::string>(value.type().attr("__name__"));
  }
  return result;
}

WritableStorage ReadWritableStorage(nb::handle tensor, DType dtype) {
  RequireHost(tensor);
  if (ReadDType(tensor) != dtype) throw nb::value_error("the storage to fill has another dtype");
  if (!nb::cast<bool>(tensor.attr("is_contiguous")())) throw nb::value_error("the storage to fill is not contiguous");
  WritableStorage memory;
  memory.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(tensor.attr("data_ptr")()));
  memory.size = nb::cast<std::size_t>(tensor.attr("numel")()) * ItemSize(dtype);
  if (memory.data == nullptr && memory.size > 0) throw nb::value_error("the storage to fill has no memory");
  return memory;
}

}  // namespace msprobe
