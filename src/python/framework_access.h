#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "python/object.h"
#include "record/element.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// Under which names a framework offers what is read of a tensor and of its autograd graph, interned once.
struct FrameworkNames {
  PyObject *requires_grad, *node, *output_number, *next_functions, *sequence_number, *register_hook, *register_prehook,
      *storage_offset, *data_ptr, *dtype, *shape, *stride,
      *parameters;  ///< a module's own, a dict
};

/// A name that lives as long as the process. Throws PythonError.
PyObject* InternedName(const char* text);

/// The class that a module has under this name; the module keeps it alive. Throws PythonError.
PyTypeObject* ClassIn(PyObject* module, const char* name);

/// Appends the integers of a sequence; false (exception cleared) if it holds anything else.
bool AppendIntegers(PyObject* sequence, std::vector<std::int64_t>& out);

/// Host memory of a tensor. Shape and strides live in the tensor, or in `owned` where they had to be fetched.
struct TensorMemory {
  TensorView view;
  std::vector<std::int64_t> owned;
};

/// What of a framework is looked at on the way of a recorded call. The core links none: everything goes through Python
/// attributes. All of it runs while the tool is quiet, so that nothing of it is recorded or seen by the user's code.
class FrameworkAccess {
 public:
  virtual ~FrameworkAccess() = default;
  FrameworkAccess(const FrameworkAccess&) = delete;
  FrameworkAccess& operator=(const FrameworkAccess&) = delete;

  const FrameworkNames& names() const { return names_; }
  bool IsTensor(PyObject* object) const {
    PyTypeObject* type = Py_TYPE(object);
    return type == tensor_type_ || type == parameter_type_ || PyType_IsSubtype(type, base_type_) != 0;
  }
  /// The framework's tensor or parameter class itself, not another subclass.
  bool IsPlain(PyObject* object) const { return Py_TYPE(object) == tensor_type_ || Py_TYPE(object) == parameter_type_; }
  bool RequiresGrad(PyObject* tensor) const { return BoolAttribute(tensor, names_.requires_grad); }
  std::int64_t StorageOffset(PyObject* tensor) const;
  bool BoolAttribute(PyObject* object, PyObject* name) const;

  /// Type and dtype of the tensor as its element shows them, and what else the framework's records say of it.
  virtual void Identify(PyObject* tensor, const TensorView& view, TensorElement& element) const = 0;
  /// Memory of a plain strided host tensor; nothing (and no exception) for any other.
  virtual std::optional<TensorMemory> Memory(PyObject* tensor) const = 0;
  /// Memory of the value that `describe` has given, which lives on for the time of its use.
  virtual std::optional<TensorMemory> MemoryOfValue(PyObject* value) const { return Memory(value); }
  /// `describe(tensor, statistics)` of the framework's tensor_access.py: see there. For everything that Memory does not
  /// read.
  virtual Object DescribeUnusual(PyObject* tensor, PyObject* statistics) const = 0;
  /// The object that begins statistics of tensors on devices and fetches them together.
  virtual Object MakeDeviceStatistics() const = 0;
  /// A tuple that is one value, as torch.Size.
  virtual bool IsValue(PyObject* tuple) const = 0;
  /// Values without parts that only this framework has, and values that its keywords make special; nothing for others.
  virtual std::optional<Element> PlainValue(PyObject* value, std::string_view key) const = 0;
  /// Objects that only this framework has and that may hold a tensor, which `capture` describes; nothing for others.
  virtual std::optional<Element> ObjectValue(PyObject* value,
                                             const std::function<Element(PyObject*)>& capture) const = 0;

  /// The autograd node that computed the tensor; null for a leaf and for what needs no gradient.
  virtual Object Node(PyObject* tensor) const = 0;
  /// Equal for two objects that stand for one node.
  virtual std::uintptr_t NodeIdentity(PyObject* node) const = 0;
  /// Whether the node stands for a leaf of the graph.
  virtual bool IsLeafNode(PyObject* node) const = 0;
  /// The tensor whose gradient a leaf's node takes, if leaves are told by that; else null.
  virtual Object LeafOf(PyObject* leaf_node) const = 0;
  std::optional<std::uint64_t> SequenceNumber(PyObject* node) const;
  /// Nodes made from now on have this number or a higher one; absent where that is not known.
  virtual std::optional<std::uint64_t> NextSequenceNumber() const = 0;
  /// Whether the record of a call that is one node has that node's gradients, in its order (decisions 5).
  virtual bool RecordsWholeNodes() const = 0;
  /// Whether tensors given by keyword have their places among the gradients of a call's inputs.
  virtual bool RecordsGradientsOfKeywords() const = 0;
  /// Whether the framework shows its backward graph; else only the gradients of outputs are known, from hooks on them.
  virtual bool ShowsGraph() const { return true; }
  /// Has `hook(gradient)` called when the tensor's gradient comes; the handle takes it off. Throws PythonError.
  virtual Object RegisterTensorHook(PyObject* tensor, PyObject* hook) const;
  /// Whether a tensor's hook may be taken off while it is called.
  virtual bool MayRemoveRunningHooks() const { return true; }
  /// Sum of two gradients of one input; a new tensor.
  virtual Object AddGradients(PyObject* a, PyObject* b) const = 0;
  /// A parameter's gradient when its hook is called with `argument`, or None.
  virtual Object ParameterGradient(PyObject* parameter, PyObject* argument) const = 0;
  /// Whether this thread runs a node of a backward pass.
  virtual bool IsInBackward() const = 0;
  /// Whether a backward pass may have brought what runs now from another thread to this one.
  virtual bool IsBackwardThread() const = 0;
  /// The code that runs in the frame of every module call, in a framework that does not say when a call ended with an
  /// exception; else null.
  virtual PyObject* module_call_code() const = 0;

  /// Remembers that this thread is inside the tool, for its lifetime.
  class Quiet {
   public:
    explicit Quiet(const FrameworkAccess& framework);
    /// Whether this thread is inside the tool.
    static bool IsActive();
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    const FrameworkAccess& framework_;
    Object guard_;
    std::chrono::steady_clock::time_point begin_;
  };

  /// What all threads have spent inside the tool since the last call.
  double TakeSecondsInside() const { return std::chrono::duration<double>(std::exchange(time_inside_, {})).count(); }

 protected:
  FrameworkAccess() = default;
  /// A new object that keeps the framework from showing the tool's own work to anybody, or null; and its end.
  virtual Object BeginQuiet() const { return {}; }
  virtual void EndQuiet(PyObject* /*guard*/) const {}

  FrameworkNames names_{};
  /// The classes of tensors and parameters, and the one that both are subclasses of. The framework keeps them alive.
  PyTypeObject *tensor_type_ = nullptr, *parameter_type_ = nullptr, *base_type_ = nullptr;

 private:
  mutable std::chrono::steady_clock::duration time_inside_{};
};

}  // namespace msprobe
