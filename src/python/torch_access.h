#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "python/dlpack.h"
#include "python/object.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// Names of attributes and methods, interned once.
struct TorchNames {
  PyObject *requires_grad, *grad_fn, *output_nr, *next_functions, *variable, *sequence_nr, *register_hook,
      *register_prehook, *is_conj, *is_neg, *storage_offset, *data_ptr, *dtype, *shape, *stride, *device, *enter, *exit;
};

/// Host memory of a tensor. Shape and strides live in the tensor, or in `owned` where they had to be fetched.
struct TensorMemory {
  TensorView view;
  std::vector<std::int64_t> owned;
};

/// What of torch is looked at on the way of a recorded call. The core links no torch: everything goes through Python
/// attributes and the DLPack C exchange table of torch 2.10 and newer. All of it runs with torch functions disabled, so
/// that neither the active mode nor a subclass's __torch_function__ sees it (spec decisions 2).
class TorchAccess {
 public:
  /// `helpers` is the module msprobe.pytorch.tensor_access. Throws PythonError.
  explicit TorchAccess(PyObject* helpers);

  const TorchNames& names() const { return names_; }
  bool IsTensor(PyObject* object) const {
    PyTypeObject* type = Py_TYPE(object);
    return type == tensor_type_ || type == parameter_type_ || PyType_IsSubtype(type, tensor_type_) != 0;
  }
  /// A torch.Tensor or Parameter itself, not another subclass.
  bool IsPlain(PyObject* object) const { return Py_TYPE(object) == tensor_type_ || Py_TYPE(object) == parameter_type_; }
  /// Memory of a plain strided host tensor without conjugate or negative bit; nothing (and no exception) for any other.
  std::optional<TensorMemory> Memory(PyObject* tensor) const;
  bool RequiresGrad(PyObject* tensor) const { return BoolAttribute(tensor, names_.requires_grad); }
  std::int64_t StorageOffset(PyObject* tensor) const;
  /// tensor_access.describe(tensor, statistics): see there. For everything that Memory does not read.
  Object DescribeUnusual(PyObject* tensor, PyObject* statistics) const;
  Object MakeDeviceStatistics() const;
  /// Sum of two gradients of one input; a new tensor.
  Object AddGradients(PyObject* a, PyObject* b) const;
  /// autograd's counter for nodes of this thread; absent where torch lacks it.
  std::optional<std::uint64_t> NextSequenceNumber() const;
  std::optional<std::uint64_t> SequenceNumber(PyObject* node) const;
  bool IsAccumulateGrad(PyObject* node) const;
  /// The code that runs in the frame of every module call, in a torch that does not say when a call ended with an
  /// exception; else null.
  PyObject* module_call_code() const { return module_call_code_.get(); }
  /// A parameter's gradient after accumulation (`main_grad` where a framework keeps it there), or None.
  Object ParameterGradient(PyObject* parameter) const;
  /// Whether this thread runs a node of a backward pass.
  bool IsInBackward() const;

  bool BoolAttribute(PyObject* object, PyObject* name) const;

  /// Disables torch functions, and remembers that this thread is inside the tool, for its lifetime.
  class Quiet {
   public:
    explicit Quiet(const TorchAccess& torch);
    /// Whether this thread is inside the tool.
    static bool IsActive();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    const TorchAccess& torch_;
    Object guard_;
    std::chrono::steady_clock::time_point begin_;
  };

  /// What all threads have spent inside the tool since the last call.
  double TakeSecondsInside() const { return std::chrono::duration<double>(std::exchange(time_inside_, {})).count(); }

  // Kinds of values besides tensors.
  PyTypeObject* size_type() const { return size_type_; }
  PyTypeObject* dtype_type() const { return dtype_type_; }
  PyTypeObject* device_type() const { return device_type_; }

 private:
  std::optional<TensorMemory> MemoryFromExchange(PyObject* tensor) const;
  std::optional<TensorMemory> MemoryFromAttributes(PyObject* tensor) const;

  TorchNames names_{};
  Object helpers_;
  Object describe_, add_gradients_, next_sequence_number_, graph_task_, module_call_code_, disable_torch_function_;
  PyTypeObject *tensor_type_ = nullptr, *parameter_type_ = nullptr, *size_type_ = nullptr, *dtype_type_ = nullptr,
               *device_type_ = nullptr;
  const dlpack::ExchangeApi* exchange_ = nullptr;
  mutable std::chrono::steady_clock::duration time_inside_{};
  mutable PyTypeObject* accumulate_grad_type_ = nullptr;
};

}  // namespace msprobe
