#include "python/mindspore/mindspore_access.h"

#include <string_view>

#include "python/plain_values.h"

namespace msprobe {

MindSporeAccess::MindSporeAccess(PyObject* helpers) {
  names_ = {InternedName("_requires_grad"),
            InternedName("_grad_node"),
            InternedName("_output_index"),
            InternedName("next_functions"),
            InternedName("_sequence_nr"),
            InternedName("register_hook"),
            InternedName("register_prehook"),
            InternedName("storage_offset"),
            InternedName("data_ptr"),
            InternedName("dtype"),
            InternedName("shape"),
            InternedName("stride"),
            InternedName("_params")};
  device_ = InternedName("device");
  unique_id_ = InternedName("_unique_id");
  is_leaf_ = InternedName("is_leaf");
  tensor_type_ = ClassIn(helpers, "Tensor");
  parameter_type_ = ClassIn(helpers, "Parameter");
  base_type_ = ClassIn(helpers, "TensorBase");
  dtype_type_ = ClassIn(helpers, "dtype");
  describe_ = Checked(PyObject_GetAttrString(helpers, "describe"));
  add_gradients_ = Checked(PyObject_GetAttrString(helpers, "add_gradients"));
  register_tensor_hook_ = Checked(PyObject_GetAttrString(helpers, "register_tensor_hook"));
  has_host_memory_alone_ = Checked(PyObject_GetAttrString(helpers, "has_host_memory_alone"));
  module_call_code_ = Checked(PyObject_GetAttrString(helpers, "module_call_code"));
  if (module_call_code_.get() == Py_None) {
    module_call_code_ = Object();
  }
  shows_graph_ = Checked(PyObject_GetAttrString(helpers, "SHOWS_GRAPH")).get() == Py_True;
}

std::optional<DType> MindSporeAccess::DTypeOf(PyObject* tensor) const {
  Object dtype = Object::Steal(PyObject_GetAttr(tensor, names_.dtype));
  if (!dtype) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (const auto known = dtypes_.find(dtype.get()); known != dtypes_.end()) {
    return known->second.dtype;
  }
  const std::optional<DType> parsed = ParseDType(TextOf(dtype.get()));
  if (parsed) {
    PyObject* address = dtype.get();
    dtypes_.emplace(address, KnownDType{std::move(dtype), *parsed});
  }
  return parsed;
}

bool MindSporeAccess::IsOnHost(PyObject* tensor) const {
  const Object device = Object::Steal(PyObject_GetAttr(tensor, device_));
  PyErr_Clear();
  if (device && PyUnicode_Check(device.get()) &&
      PyUnicode_GET_LENGTH(device.get()) != 0) {  // older versions: "" or none
    return std::string_view(Utf8Text(device.get())).starts_with("CPU");
  }
  const Object answer = Object::Steal(PyObject_CallNoArgs(has_host_memory_alone_.get()));
  PyErr_Clear();
  return answer.get() == Py_True;
}

/// A parameter's class is made anew: "Parameter", derived from the class of that name and from Tensor.
bool MindSporeAccess::IsMadeParameter(const PyTypeObject* type) const {
  return type->tp_base == parameter_type_ && std::string_view(type->tp_name) == "Parameter";
}

std::optional<TensorMemory> MindSporeAccess::Memory(PyObject* tensor) const {
  if (!IsPlain(tensor) && !IsMadeParameter(Py_TYPE(tensor))) {
    return std::nullopt;
  }
  if (!IsOnHost(tensor)) {
    return std::nullopt;
  }
  const std::optional<DType> dtype = DTypeOf(tensor);
  const Object shape = Object::Steal(PyObject_GetAttr(tensor, names_.shape));
  const Object strides = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.stride));
  const Object pointer = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.data_ptr));
  TensorMemory memory;
  if (!dtype || !shape || !strides || !pointer || !AppendIntegers(shape.get(), memory.owned)) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::size_t dimensions = memory.owned.size();
  if (!AppendIntegers(strides.get(), memory.owned) || memory.owned.size() != 2 * dimensions) {
    return std::nullopt;
  }
  memory.view.data = PyLong_AsVoidPtr(pointer.get());
  memory.view.dtype = *dtype;
  memory.view.shape = {memory.owned.data(), dimensions};
  memory.view.strides = {memory.owned.data() + dimensions, dimensions};
  PyErr_Clear();
  if (!shows_graph_ && (!IsContiguous(memory.view) || StorageOffset(tensor) != 0)) {
    return std::nullopt;  // older versions give the address of the storage
  }
  if (memory.view.data == nullptr && ElementCount(memory.view) != 0) {
    return std::nullopt;
  }
  return memory;
}

std::optional<TensorMemory> MindSporeAccess::MemoryOfValue(PyObject* value) const {
  const Object own = Object::Steal(PyObject_GetAttr(value, names_.dtype));
  const std::optional<DType> dtype = own ? ParseDType("torch." + TextOf(own.get())) : std::nullopt;
  Py_buffer buffer{};
  if (!dtype || PyObject_GetBuffer(value, &buffer, PyBUF_STRIDED_RO) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  TensorMemory memory;
  const auto dimensions = static_cast<std::size_t>(buffer.ndim);
  const auto size = static_cast<Py_ssize_t>(ItemSize(*dtype));
  memory.owned.assign(buffer.shape, buffer.shape + dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    memory.owned.push_back(buffer.strides[i] / size);
  }
  memory.view =
      TensorView{buffer.buf, *dtype, {memory.owned.data(), dimensions}, {memory.owned.data() + dimensions, dimensions}};
  PyBuffer_Release(&buffer);  // the array keeps its memory
  return memory;
}

void MindSporeAccess::Identify(PyObject* /*tensor*/, const TensorView& view, TensorElement& element) const {
  element.type = "mindspore.Tensor";
  element.dtype = MindSporeName(view.dtype);
}

Object MindSporeAccess::DescribeUnusual(PyObject* tensor, PyObject* statistics) const {
  return Checked(PyObject_CallFunctionObjArgs(describe_.get(), tensor, statistics, nullptr));
}

Object MindSporeAccess::RegisterTensorHook(PyObject* tensor, PyObject* hook) const {
  return Checked(PyObject_CallFunctionObjArgs(register_tensor_hook_.get(), tensor, hook, nullptr));
}

Object MindSporeAccess::AddGradients(PyObject* a, PyObject* b) const {
  return Checked(PyObject_CallFunctionObjArgs(add_gradients_.get(), a, b, nullptr));
}

std::optional<Element> MindSporeAccess::PlainValue(PyObject* value, std::string_view key) const {
  if (key == "dtype" || PyObject_TypeCheck(value, dtype_type_)) {
    return Typed("mindspore.dtype", TextOf(value));
  }
  return std::nullopt;
}

Object MindSporeAccess::Node(PyObject* tensor) const {
  if (!shows_graph_) {
    return {};
  }
  Object node = Object::Steal(PyObject_GetAttr(tensor, names_.node));
  PyErr_Clear();
  if (!node || node.get() == Py_None) {
    return {};
  }
  const std::optional<std::uint64_t> number = SequenceNumber(node.get());
  if (number && *number + 1 > next_sequence_number_) {  // a leaf has the highest number of all, and 0 comes after it
    next_sequence_number_ = *number + 1;
  }
  return node;
}

std::uintptr_t MindSporeAccess::NodeIdentity(PyObject* node) const {
  const Object number = Checked(PyObject_CallMethodNoArgs(node, unique_id_));
  return PyLong_AsUnsignedLongLongMask(number.get());
}

bool MindSporeAccess::IsLeafNode(PyObject* node) const {
  const Object leaf = Object::Steal(PyObject_CallMethodNoArgs(node, is_leaf_));
  PyErr_Clear();
  return leaf.get() == Py_True;
}

}  // namespace msprobe
