#include "python/torch_access.h"

#include <cstring>
#include <string_view>

#include "python/engine_call.h"

namespace msprobe {
namespace {

PyObject* Intern(const char* text) {
  PyObject* name = PyUnicode_InternFromString(text);
  if (name == nullptr) {
    throw PythonError{};
  }
  return name;  // lives as long as the process
}

PyTypeObject* TypeAttribute(PyObject* module, const char* name) {
  Object type = Checked(PyObject_GetAttrString(module, name));
  if (PyType_Check(type.get()) == 0) {
    PyErr_Format(PyExc_TypeError, "%s is not a class", name);
    throw PythonError{};
  }
  return reinterpret_cast<PyTypeObject*>(Object(type).get());  // the module keeps it alive
}

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

/// Appends the integers of a sequence; false (exception cleared) if it holds anything else.
bool AppendIntegers(PyObject* sequence, std::vector<std::int64_t>& out) {
  Object fast = Object::Steal(PySequence_Fast(sequence, "not a sequence"));
  if (!fast) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast.get());
  for (Py_ssize_t i = 0; i < count; ++i) {
    const long long value = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(fast.get(), i));
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return false;
    }
    out.push_back(value);
  }
  return true;
}

thread_local int quiet_depth = 0;

}  // namespace

TorchAccess::TorchAccess(PyObject* helpers) : helpers_(Object::Borrow(helpers)) {
  names_ = {Intern("requires_grad"), Intern("grad_fn"),      Intern("output_nr"),      Intern("next_functions"),
            Intern("variable"),      Intern("_sequence_nr"), Intern("register_hook"),  Intern("register_prehook"),
            Intern("is_conj"),       Intern("is_neg"),       Intern("storage_offset"), Intern("data_ptr"),
            Intern("dtype"),         Intern("shape"),        Intern("stride"),         Intern("device"),
            Intern("__enter__"),     Intern("__exit__")};
  tensor_type_ = TypeAttribute(helpers, "Tensor");
  parameter_type_ = TypeAttribute(helpers, "Parameter");
  size_type_ = TypeAttribute(helpers, "Size");
  dtype_type_ = TypeAttribute(helpers, "dtype");
  device_type_ = TypeAttribute(helpers, "device");
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

bool TorchAccess::BoolAttribute(PyObject* object, PyObject* name) const {
  Object value = Object::Steal(PyObject_GetAttr(object, name));
  if (!value) {
    PyErr_Clear();
    return false;
  }
  return value.get() == Py_True;
}

std::int64_t TorchAccess::StorageOffset(PyObject* tensor) const {
  Object value = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.storage_offset));
  const long long offset = value ? PyLong_AsLongLong(value.get()) : 0;
  PyErr_Clear();
  return offset < 0 ? 0 : offset;
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
  Object device = Object::Steal(PyObject_GetAttr(tensor, names_.device));
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
  Object negative = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.is_neg));
  if (negative.get() == Py_True) {
    return std::nullopt;
  }
  if (IsComplex(memory->view.dtype)) {
    Object conjugate = Object::Steal(PyObject_CallMethodNoArgs(tensor, names_.is_conj));
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

std::optional<std::uint64_t> TorchAccess::SequenceNumber(PyObject* node) const {
  Object number = Object::Steal(PyObject_CallMethodNoArgs(node, names_.sequence_nr));
  if (!number) {
    PyErr_Clear();
    return std::nullopt;
  }
  return PyLong_AsUnsignedLongLongMask(number.get());
}

bool TorchAccess::IsAccumulateGrad(PyObject* node) const {
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

Object TorchAccess::ParameterGradient(PyObject* parameter) const {
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

bool TorchAccess::Quiet::IsActive() { return quiet_depth > 0; }

TorchAccess::Quiet::Quiet(const TorchAccess& torch) : torch_(torch) {
  if (quiet_depth++ == 0) {
    begin_ = std::chrono::steady_clock::now();
    guard_ = Object::Steal(PyObject_CallNoArgs(torch.disable_torch_function_.get()));
    if (guard_) {
      Object::Steal(PyObject_CallMethodNoArgs(guard_.get(), torch.names_.enter));
    }
    PyErr_Clear();
  }
}

TorchAccess::Quiet::~Quiet() {
  if (--quiet_depth == 0) {
    torch_.time_inside_ += std::chrono::steady_clock::now() - begin_;
  }
  if (guard_) {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);  // a pending exception of the user's call passes unchanged
    PyObject* arguments[] = {guard_.get(), Py_None, Py_None, Py_None};
    Object::Steal(PyObject_VectorcallMethod(torch_.names_.exit, arguments, 4, nullptr));
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
  }
}

}  // namespace msprobe
