#pragma once

#include <unordered_map>

#include "python/framework_access.h"
#include "tensor/dtype.h"

namespace msprobe {

/// MindSpore through Python attributes: `data_ptr` of a host tensor, shape, strides and dtype; and in PyNative mode the
/// graph of backward nodes (mindspore_facts.md 3). Reading a pointer waits for the operators that compute it.
class MindSporeAccess : public FrameworkAccess {
 public:
  /// `helpers` is the module msprobe.mindspore.tensor_access. Throws PythonError.
  explicit MindSporeAccess(PyObject* helpers);

  void Identify(PyObject* tensor, const TensorView& view, TensorElement& element) const override;
  std::optional<TensorMemory> Memory(PyObject* tensor) const override;
  /// Of a numpy array.
  std::optional<TensorMemory> MemoryOfValue(PyObject* value) const override;
  Object DescribeUnusual(PyObject* tensor, PyObject* statistics) const override;
  Object MakeDeviceStatistics() const override { return Object::Borrow(Py_None); }
  bool IsValue(PyObject* /*tuple*/) const override { return false; }
  std::optional<Element> PlainValue(PyObject* value, std::string_view key) const override;
  std::optional<Element> ObjectValue(PyObject* /*value*/,
                                     const std::function<Element(PyObject*)>& /*capture*/) const override {
    return std::nullopt;
  }

  /// Also that of a leaf: leaves have nodes of their own here.
  Object Node(PyObject* tensor) const override;
  /// Each access makes a new object for a node; its number stays.
  std::uintptr_t NodeIdentity(PyObject* node) const override;
  bool IsLeafNode(PyObject* node) const override;
  Object LeafOf(PyObject* /*leaf_node*/) const override { return {}; }
  /// MindSpore numbers nodes in order and does not tell the next number: it is above all that were seen.
  std::optional<std::uint64_t> NextSequenceNumber() const override { return next_sequence_number_; }
  bool RecordsWholeNodes() const override { return false; }
  /// The format has no place for them (mindspore_dump.md 6.3).
  bool RecordsGradientsOfKeywords() const override { return false; }
  bool ShowsGraph() const override { return shows_graph_; }
  Object RegisterTensorHook(PyObject* tensor, PyObject* hook) const override;
  bool MayRemoveRunningHooks() const override { return false; }  // it would crash
  Object AddGradients(PyObject* a, PyObject* b) const override;
  Object ParameterGradient(PyObject* /*parameter*/, PyObject* argument) const override {
    return Object::Borrow(argument);
  }
  /// Not told by MindSpore: a call without an outer one may be made again in backward.
  bool IsInBackward() const override { return true; }
  /// Backward passes run on the thread that asks for them.
  bool IsBackwardThread() const override { return false; }
  PyObject* module_call_code() const override { return module_call_code_.get(); }

 private:
  bool IsMadeParameter(const PyTypeObject* type) const;
  bool IsOnHost(PyObject* tensor) const;
  std::optional<DType> DTypeOf(PyObject* tensor) const;

  PyObject *device_, *unique_id_, *is_leaf_;  // names
  Object describe_, add_gradients_, register_tensor_hook_, has_host_memory_alone_, module_call_code_;
  bool shows_graph_ = true;
  PyTypeObject* dtype_type_ = nullptr;
  struct KnownDType {
    Object object;  // keeps the address
    DType dtype;
  };
  mutable std::unordered_map<PyObject*, KnownDType> dtypes_;
  mutable std::uint64_t next_sequence_number_ = 0;
};

}  // namespace msprobe
