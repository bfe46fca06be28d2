#include "python/torch/torch_access.h"

#include <cstring>
#include <string_view>

#include "python/torch/engine_call.h"

namespace msprobe {
namespace {

std::optional<DType> FromDlpack(dlpack::DataType dtype) {
  if (dtype.lanes != 1) {
    return std::nullopt;
  }
  switch (dtype.code) {
    case dlpack::kInt:
      switch (dtype.bits) {
        case 8:
          return DType::kInt8;
        case 16:
          return DType::kInt16;
        case 32:
          return DType::kInt32;
        case 64:
          return DType::kInt64;
        default:
          return std::nullopt;
      }
    case dlpack::kUint:
      switch (dtype.bits) {
        case 8:
          return DType::kUint8;
        case 16:
          return DType::kUint16;
        case 32:
          return DType::kUint32;
        case 64:
          return DType::kUint64;
        default:
          return std::nullopt;
      }
    case dlpack::kFloat:
      switch (dtype.bits) {
        case 16:
          return DType::kFloat16;
        case 32:
          return DType::kFloat32;
        case 64:
          return DType::kFloat64;
        default:
          return std::nullopt;
      }
    case dlpack::kBfloat:
      return dtype.bits == 16 ? std::optional(DType::kBFloat16) : std::nullopt;
    case dlpack::kComplex:
      switch (dtype.bits) {
        case 32:
          return DType::kComplex32;
        case 64:
          return DType::kComplex64;
        case 128:
          return DType::kComplex128;
        default:
          return std::nullopt;
      }
    case dlpack::kBool:
      return dtype.bits == 8 ? std::optional(DType::kBool) : std::nullopt;
    case dlpack::kFloat8E4M3Fn:
      return DType::kFloat8E4M3Fn;
    case dlpack::kFloat8E4M3Fnuz:
      return DType::kFloat8E4M3Fnuz;
    case dlpack::kFloat8E5M2:
      return DType::kFloat8E5M2;
    case dlpack::kFloat8E5M2Fnuz:
      return DType::kFloat8E5M2Fnuz;
    case dlpack::kFloat8E8M0Fnu:
      return DType::kFloat8E8M0Fnu;
    default:
      return std::nullopt;
  }
}

}  // namespace

TorchAccess::TorchAccess(PyObject* helpers) : helpers_(Object::Borrow(helpers)) {
  names_ = {InternedName("requires_grad"),
            InternedName("grad_fn"),
            InternedName("output_nr"),
            InternedName("next_functions"),
            InternedName("_sequence_nr"),
            InternedName("register_hook"),
            InternedName("register_prehook"),
            InternedName("storage_offset"),
            InternedName("data_ptr"),
            InternedName("dtype"),
            InternedName("shape"),
            InternedName("stride"),
            InternedName("_parameters")};
  variable_ = InternedName("variable");
  is_conj_ = InternedName("is_conj");
  is_neg_ = InternedName("is_neg");
  device_ = InternedName("device");
  enter_ = InternedName("__enter__");
  exit_ = InternedName("__exit__");
  tensor_type_ = ClassIn(helpers, "Tensor");
  parameter_type_ = ClassIn(helpers, "Parameter");
  base_type_ = tensor_type_;
  size_type_ = ClassIn(helpers, "Size");
  dtype_type_ = ClassIn(helpers, "dtype");
  device_type_ = ClassIn(helpers, "device");
  describe_ = Checked(PyObject_GetAttrString(helpers, "describe"));
  add_gradients_ = Checked(PyObject_GetAttrString(helpers, "add_gradients"));
  disable_torch_function_ = Checked(PyObject_GetAttrString(helpers, "DisableTorchFunction"));
  next_sequence_number_ = Checked(PyObject_GetAttrString(helpers, "next_sequence_number"));
  if (next_sequence_number_.get() == Py_None) {
    next_sequence_number_ = Object();
  }
  graph_task_ = Checked(PyObject_GetAttrString(helpers, "current_graph_task"));
  if (graph_task_.get() == Py_None) {
    graph_task_ = Object();
  }
  module_call_code_ = Checked(PyObject_GetAttrString(helpers, "module_call_code"));
  if (module_call_code_.get() == Py_None) {
    module_call_code_ = Object();
  }
  Object capsule =
      Object::Steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type_), "__dlpack_c_exchange_api__"));
  if (capsule) {
    void* pointer = PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api");
    const auto* api = static_cast<const dlpack::ExchangeApi*>(pointer);
    while (api != nullptr && api->version.major != 1) {
      api = api->previous;
    }
    if (api != nullptr && api->tensor_from_object != nullptr) {
      exchange_ = api;
    }
  }
  PyErr_Clear();  // an older torch without the table is read through attributes
}

void TorchAccess::Identify(PyObject* tensor, const TensorView& view, TensorElement& element) const {
  element.dtype = TorchName(view.dtype);
  element.requires_grad = RequiresGrad(tensor);
}

std::optional<TensorMemory> TorchAccess::MemoryFromExchange(PyObject* tensor) const {
  dlpack::Tensor raw{};
  if (exchange_->tensor_from_object(tensor, &raw) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::optional<DType> dtype = FromDlpack(raw.dtype);
  if (raw.device.type != dlpack::kDeviceCpu || !dtype) {
    return std::nullopt;
  }
  if (dtype == DType::kUint8 || dtype == DType::kInt8) {  // dtypes of fewer bits are exported as these
    Object own = Object::Steal(PyObject_GetAttr(tensor, names_.dtype));
    Object text = own ? Object::Steal(PyObject_Str(own.get())) : Object();
    const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    if (name == nullptr || ParseDType(name) != dtype) {
      return std::nullopt;
    }
  }
  TensorMemory memory;
  const auto dimensions = static_cast<std::size_t>(raw.dimensions);
  memory.view = TensorView{static_cast<const std::byte*>(raw.data) + raw.byte_offset,
                           *dtype,
                           {raw.shape, dimensions},
                           {raw.strides, raw.strides == nullptr ? 0 : dimensions}};
  return memory;
}

std::optional<TensorMemory> TorchAccess::MemoryFromAttributes(PyObject* tensor) const {
  Object device = Object::Steal(PyObject_GetAttr(tensor, device_));
  Object device_text = device ? Object::Steal(PyObject_Str(device.get())) : Object();
  Object dtype = Object::Steal(PyObject_GetAttr(tensor, names_.dtype));
  Object dtype_text = dtype ? Object::Steal(PyObject_Str(dtype.get())) : Object();
  Object shape = Object::Steal(PyObject_GetAttr(tensor, names_.shape));
  Object stride = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.stride));
  Object pointer = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.data_ptr));
  if (!device_text || !dtype_text || !shape || !stride || !pointer) {
    PyErr_Clear();
    return std::nullopt;
  }
  const char* device_name = PyUnicode_AsUTF8(device_text.get());
  const char* dtype_name = PyUnicode_AsUTF8(dtype_text.get());
  const std::optional<DType> kind = dtype_name == nullptr ? std::nullopt : ParseDType(dtype_name);
  TensorMemory memory;
  if (device_name == nullptr || std::string_view(device_name).substr(0, 3) != "cpu" || !kind ||
      !AppendIntegers(shape.get(), memory.owned)) {
    PyErr_Clear();
    return std::nullopt;
  }
  const std::size_t dimensions = memory.owned.size();
  if (!AppendIntegers(stride.get(), memory.owned) || memory.owned.size() != 2 * dimensions) {
    return std::nullopt;
  }
  memory.view.data = PyLong_AsVoidPtr(pointer.get());
  memory.view.dtype = *kind;
  memory.view.shape = {memory.owned.data(), dimensions};
  memory.view.strides = {memory.owned.data() + dimensions, dimensions};
  PyErr_Clear();
  return memory;
}

std::optional<TensorMemory> TorchAccess::Memory(PyObject* tensor) const {
  if (!IsPlain(tensor)) {
    return std::nullopt;
  }
  std::optional<TensorMemory> memory = exchange_ != nullptr ? MemoryFromExchange(tensor) : MemoryFromAttributes(tensor);
  if (!memory) {
    return std::nullopt;
  }
  if (memory->view.data == nullptr && ElementCount(memory->view) != 0) {
    return std::nullopt;
  }
  Object negative = Object::Steal(PyObject_CallMethodNoArgs(tensor, is_neg_));
  if (negative.get() == Py_True) {
    return std::nullopt;
  }
  if (IsComplex(memory->view.dtype)) {
    Object conjugate = Object::Steal(PyObject_CallMethodNoArgs(tensor, is_conj_));
    if (conjugate.get() == Py_True) {
      return std::nullopt;
    }
  }
  PyErr_Clear();
  return memory;
}

Object TorchAccess::DescribeUnusual(PyObject* tensor, PyObject* statistics) const {
  return Checked(PyObject_CallFunctionObjArgs(describe_.get(), tensor, statistics, nullptr));
}

Object TorchAccess::MakeDeviceStatistics() const {
  return Checked(PyObject_CallMethod(helpers_.get(), "DeviceStatistics", nullptr));
}

Object TorchAccess::AddGradients(PyObject* a, PyObject* b) const {
  return Checked(PyObject_CallFunctionObjArgs(add_gradients_.get(), a, b, nullptr));
}

std::optional<std::uint64_t> TorchAccess::NextSequenceNumber() const {
  if (!next_sequence_number_) {
    return std::nullopt;
  }
  Object number = Checked(PyObject_CallNoArgs(next_sequence_number_.get()));
  return PyLong_AsUnsignedLongLongMask(number.get());
}

Object TorchAccess::Node(PyObject* tensor) const {
  Object node = Object::Steal(PyObject_GetAttr(tensor, names_.node));
  PyErr_Clear();
  return node.get() == Py_None ? Object() : node;
}

Object TorchAccess::LeafOf(PyObject* leaf_node) const {
  Object leaf = Object::Steal(PyObject_GetAttr(leaf_node, variable_));
  PyErr_Clear();
  return leaf;
}

bool TorchAccess::IsLeafNode(PyObject* node) const {
  PyTypeObject* type = Py_TYPE(node);
  if (type == accumulate_grad_type_) {
    return true;
  }
  if (accumulate_grad_type_ == nullptr) {
    const std::string_view name = type->tp_name;
    if (name == "AccumulateGrad" || name.ends_with(".AccumulateGrad")) {
      accumulate_grad_type_ = type;
      return true;
    }
  }
  return false;
}

Object TorchAccess::ParameterGradient(PyObject* parameter, PyObject* /*argument*/) const {
  for (const char* name : {"main_grad", "grad"}) {
    Object gradient = Object::Steal(PyObject_GetAttrString(parameter, name));
    PyErr_Clear();
    if (gradient && gradient.get() != Py_None) {
      return gradient;
    }
  }
  return Object::Borrow(Py_None);
}

bool TorchAccess::IsInBackward() const {
  if (!graph_task_) {
    return EngineIsRunning();
  }
  Object task = Object::Steal(PyObject_CallNoArgs(graph_task_.get()));
  const long number = task ? PyLong_AsLong(task.get()) : -1;
  PyErr_Clear();
  return number >= 0;
}

Object TorchAccess::BeginQuiet() const {
  Object guard = Object::Steal(PyObject_CallNoArgs(disable_torch_function_.get()));
  if (guard) {
    Object::Steal(PyObject_CallMethodNoArgs(guard.get(), enter_));
  }
  return guard;
}

void TorchAccess::EndQuiet(PyObject* guard) const {
  PyObject* arguments[] = {guard, Py_None, Py_None, Py_None};
  Object::Steal(PyObject_VectorcallMethod(exit_, arguments, 4, nullptr));
}

}  // namespace msprobe
