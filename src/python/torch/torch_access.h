#pragma once

#include "python/framework_access.h"
#include "python/torch/dlpack.h"

namespace msprobe {

/// torch through Python attributes and the DLPack C exchange table of torch 2.10 and newer. While the tool is quiet,
/// torch functions are disabled, so that neither the active mode nor a subclass's __torch_function__ sees it (spec
/// decisions 2).
class TorchAccess : public FrameworkAccess {
 public:
  /// `helpers` is the module msprobe.pytorch.tensor_access. Throws PythonError.
  explicit TorchAccess(PyObject* helpers);

  void Identify(PyObject* tensor, const TensorView& view, TensorElement& element) const override;
  /// Also nothing for a tensor with a conjugate or negative bit.
  std::optional<TensorMemory> Memory(PyObject* tensor) const override;
  Object DescribeUnusual(PyObject* tensor, PyObject* statistics) const override;
  Object MakeDeviceStatistics() const override;
  bool IsValue(PyObject* tuple) const override { return Py_TYPE(tuple) == size_type_; }
  std::optional<Element> PlainValue(PyObject* value, std::string_view key) const override;
  std::optional<Element> ObjectValue(PyObject* value, const std::function<Element(PyObject*)>& capture) const override;

  Object Node(PyObject* tensor) const override;
  /// A node has one object as long as it is kept.
  std::uintptr_t NodeIdentity(PyObject* node) const override { return reinterpret_cast<std::uintptr_t>(node); }
  bool IsLeafNode(PyObject* node) const override;
  Object LeafOf(PyObject* leaf_node) const override;
  /// autograd's counter for nodes of this thread; absent where torch lacks it.
  std::optional<std::uint64_t> NextSequenceNumber() const override;
  bool RecordsWholeNodes() const override { return true; }
  bool RecordsGradientsOfKeywords() const override { return true; }
  Object AddGradients(PyObject* a, PyObject* b) const override;
  /// After accumulation (`main_grad` where a training framework keeps it there).
  Object ParameterGradient(PyObject* parameter, PyObject* argument) const override;
  bool IsInBackward() const override;
  bool IsBackwardThread() const override { return IsInBackward(); }
  PyObject* module_call_code() const override { return module_call_code_.get(); }

 protected:
  Object BeginQuiet() const override;
  void EndQuiet(PyObject* guard) const override;

 private:
  std::optional<TensorMemory> MemoryFromExchange(PyObject* tensor) const;
  std::optional<TensorMemory> MemoryFromAttributes(PyObject* tensor) const;

  PyObject *variable_, *is_conj_, *is_neg_, *device_, *enter_, *exit_;  // names
  Object helpers_;
  Object describe_, add_gradients_, next_sequence_number_, graph_task_, module_call_code_, disable_torch_function_;
  PyTypeObject *size_type_ = nullptr, *dtype_type_ = nullptr, *device_type_ = nullptr;
  const dlpack::ExchangeApi* exchange_ = nullptr;
  mutable PyTypeObject* accumulate_grad_type_ = nullptr;
};

}  // namespace msprobe
