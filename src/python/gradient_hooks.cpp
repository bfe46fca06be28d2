#include "python/gradient_hooks.h"

#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <unordered_set>
#include <utility>

#include "python/torch_access.h"

namespace msprobe {
namespace {

/// Where torch numbers no nodes the walk is bounded by their count (decisions 4).
constexpr std::size_t kNodeLimit = 64;

}  // namespace

/// Gathers the gradients of one call from several hooks and writes the record when the last one has come.
class BackwardRecord {
 public:
  BackwardRecord(std::shared_ptr<Recording> recording, ApiCall call)
      : recording_(std::move(recording)),
        call_(std::move(call)),
        step_(recording_->collector.step()),
        id_(recording_->next_backward_id++) {}
  /// The graph may go while some of its nodes have not run: gradients of some inputs only were asked for.
  ~BackwardRecord() {
    recording_->open_backwards.erase(id_);
    if (started_ && !done_) {
      try {
        Finish();
      } catch (const std::exception& error) {
        recording_->Report("recording a gradient", error.what());
      }
    }
  }
  BackwardRecord(const BackwardRecord&) = delete;
  BackwardRecord& operator=(const BackwardRecord&) = delete;

  Recording& recording() { return *recording_; }
  std::vector<Element> output_gradients;
  std::vector<Element> input_gradients;
  /// Several nodes may feed one input: contributions that wait for the others, and how many are still to come.
  struct Contribution {
    int expected = 0;
    Object sum;
  };
  std::vector<Contribution> contributions;
  int hooks_to_come = 0;

  /// False when the record is written already (a second backward), filtered, or its step is over.
  bool Begin() {
    if (done_ || step_ != recording_->collector.step()) {
      return false;
    }
    if (!started_) {
      started_ = true;
      admitted_ = recording_->collector.AdmitBackward(call_);
      recording_->open_backwards.emplace(id_, this);
    }
    return admitted_;
  }
  void HookDone() {
    if (--hooks_to_come == 0 && !done_) {
      Finish();
    }
  }
  void Finish() {
    done_ = true;
    recording_->open_backwards.erase(id_);
    if (!admitted_) {
      return;
    }
    Record record;
    record.name = call_.name + ".backward";
    const DataMode& mode = recording_->collector.data_mode();
    if (mode.input) {
      record.sections.push_back(Member{"input", Element(std::move(output_gradients))});
    }
    if (mode.output) {
      record.sections.push_back(Member{"output", Element(std::move(input_gradients))});
    }
    recording_->collector.Add(record, {});
  }
  void SetOutputGradient(std::size_t position, PyObject* gradient) {
    if (position < output_gradients.size()) {
      output_gradients[position] =
          Capture(gradient, ".backward.input.", position, recording_->collector.data_mode().input);
    }
  }
  void AddInputGradient(std::size_t position, PyObject* gradient) {
    if (position >= contributions.size()) {
      return;
    }
    Contribution& contribution = contributions[position];
    if (gradient != Py_None) {
      contribution.sum = contribution.sum ? recording_->torch.AddGradients(contribution.sum.get(), gradient)
                                          : Object::Borrow(gradient);
    }
    if (--contribution.expected <= 0 && contribution.sum) {
      SetInputGradient(position, contribution.sum.get());
      contribution.sum = Object();
    }
  }
  void SetInputGradient(std::size_t position, PyObject* gradient) {
    input_gradients[position] =
        Capture(gradient, ".backward.output.", position, recording_->collector.data_mode().output);
  }

 private:
  Element Capture(PyObject* gradient, const char* category, std::size_t position, bool wanted) {
    if (!wanted) {
      return {};
    }
    std::string stem;
    if (recording_->collector.saves_tensors()) {
      stem = call_.name + category + std::to_string(position);
    }
    return recording_->values.Capture(gradient, std::move(stem));
  }

  std::shared_ptr<Recording> recording_;
  ApiCall call_;
  std::int64_t step_;
  std::uint64_t id_;
  bool started_ = false;
  bool admitted_ = false;
  bool done_ = false;
};

namespace {

/// What one hook takes from its node: gradients of call outputs from the node's incoming ones, gradients of call inputs
/// from its outgoing ones.
struct NodeHook {
  std::shared_ptr<BackwardRecord> record;
  struct Pair {
    std::size_t node_position;
    std::size_t call_position;
  };
  std::vector<Pair> outputs;  ///< incoming gradient of the node -> output of the call
  std::vector<Pair> inputs;   ///< outgoing gradient of the node -> tensor argument of the call
  bool whole_node = false;    ///< the API is this one node: its outgoing gradients are the record's, in its order
  bool before = false;        ///< registered as a pre-hook: called with the incoming gradients alone
  bool fired = false;
};

struct NodeHookObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  NodeHook* hook;
};

PyTypeObject* node_hook_type = nullptr;

void TakeGradients(NodeHook& hook, PyObject* outgoing, PyObject* incoming) {
  BackwardRecord& record = *hook.record;
  for (const NodeHook::Pair& pair : hook.outputs) {
    if (PyTuple_Check(incoming) && static_cast<Py_ssize_t>(pair.node_position) < PyTuple_GET_SIZE(incoming)) {
      record.SetOutputGradient(pair.call_position,
                               PyTuple_GET_ITEM(incoming, static_cast<Py_ssize_t>(pair.node_position)));
    }
  }
  if (outgoing == nullptr || !PyTuple_Check(outgoing)) {
    return;
  }
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(outgoing));
  for (const NodeHook::Pair& pair : hook.inputs) {
    if (pair.node_position >= count) {
      continue;
    }
    PyObject* gradient = PyTuple_GET_ITEM(outgoing, static_cast<Py_ssize_t>(pair.node_position));
    if (hook.whole_node) {
      record.SetInputGradient(pair.call_position, gradient);
    } else {
      record.AddInputGradient(pair.call_position, gradient);
    }
  }
}

PyObject* CallNodeHook(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* /*keywords*/) {
  NodeHook& hook = *reinterpret_cast<NodeHookObject*>(self)->hook;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  // The hook may be the last owner of the record and is itself freed if the node goes while it runs.
  const std::shared_ptr<BackwardRecord> record = hook.record;
  Recording& recording = record->recording();
  try {
    if (!hook.fired && count >= 1) {
      hook.fired = true;
      const TorchAccess::Quiet quiet(recording.torch);
      if (record->Begin()) {
        PyObject* outgoing = hook.before ? nullptr : arguments[0];
        PyObject* incoming = hook.before ? arguments[0] : count >= 2 ? arguments[1] : Py_None;
        TakeGradients(hook, outgoing, incoming);
      }
      record->HookDone();
    }
  } catch (const PythonError&) {
    if (IsInterrupt()) {
      return nullptr;
    }
    recording.ReportPythonError("recording a gradient");
  } catch (const std::exception& error) {
    recording.Report("recording a gradient", error.what());
  }
  Py_RETURN_NONE;
}

void DeallocateNodeHook(PyObject* self) {
  delete reinterpret_cast<NodeHookObject*>(self)->hook;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

void Register(const TorchAccess& torch, PyObject* node, NodeHook hook) {
  PyObject* method = hook.before ? torch.names().register_prehook : torch.names().register_hook;
  Object object = Checked(node_hook_type->tp_alloc(node_hook_type, 0));
  auto* raw = reinterpret_cast<NodeHookObject*>(object.get());
  raw->vectorcall = CallNodeHook;
  raw->hook = new NodeHook(std::move(hook));
  Checked(PyObject_CallMethodOneArg(node, method, object.get()));
  ++raw->hook->record->hooks_to_come;
}

long OutputNumber(const TorchAccess& torch, PyObject* tensor) {
  Object number = Checked(PyObject_GetAttr(tensor, torch.names().output_nr));
  return PyLong_AsLong(number.get());
}

/// One step of the backward graph: (next node or None, its input number).
struct NextFunction {
  PyObject* node;
  long number;
};

Object NextFunctions(const TorchAccess& torch, PyObject* node) {
  return Checked(PyObject_GetAttr(node, torch.names().next_functions));
}

NextFunction NextAt(PyObject* next_functions, Py_ssize_t i) {
  PyObject* pair = PyTuple_GET_ITEM(next_functions, i);
  return {PyTuple_GET_ITEM(pair, 0), PyLong_AsLong(PyTuple_GET_ITEM(pair, 1))};
}

bool LeadsTo(const TorchAccess& torch, const NextFunction& next, const InputEdge& edge) {
  if (!edge.requires_grad || next.node == Py_None) {
    return false;
  }
  if (edge.grad_fn) {
    return next.node == edge.grad_fn.get() && next.number == edge.output_number;
  }
  if (!torch.IsAccumulateGrad(next.node)) {
    return false;
  }
  Object variable = Object::Steal(PyObject_GetAttr(next.node, torch.names().variable));
  PyErr_Clear();
  return variable.get() == edge.tensor;
}

/// An output of the call that was computed by it, with its place in the graph.
struct ComputedOutput {
  Object grad_fn;
  long number;
  std::size_t position;  ///< among the tensors of the output
};

/// Outputs that hang on an input's own edge were handed back unchanged: no gradient is computed for them.
std::vector<ComputedOutput> ComputedOutputs(const TorchAccess& torch, const std::vector<InputEdge>& inputs,
                                            PyObject* output, std::size_t& tensor_count) {
  std::vector<ComputedOutput> computed;
  tensor_count = 0;
  ForEachTensor(torch, output, [&](PyObject* tensor) {
    const std::size_t position = tensor_count++;
    Object grad_fn = Object::Steal(PyObject_GetAttr(tensor, torch.names().grad_fn));
    PyErr_Clear();
    if (!grad_fn || grad_fn.get() == Py_None) {
      return;
    }
    const long number = OutputNumber(torch, tensor);
    const bool handed_back = std::any_of(inputs.begin(), inputs.end(), [&](const InputEdge& edge) {
      return edge.grad_fn.get() == grad_fn.get() && edge.output_number == number;
    });
    if (!handed_back) {
      computed.push_back({std::move(grad_fn), number, position});
    }
  });
  return computed;
}

/// A node that feeds inputs of the call: which of its outgoing gradients belong to which tensor argument.
struct FeedingNode {
  Object node;
  std::vector<NodeHook::Pair> inputs;
};

class GraphWalk {
 public:
  GraphWalk(const TorchAccess& torch, const std::vector<InputEdge>& inputs, std::optional<std::uint64_t> first)
      : torch_(torch), inputs_(inputs), first_(first) {}

  void From(const Object& start) {
    std::vector<Object> stack{start};
    while (!stack.empty()) {
      const Object node = std::move(stack.back());
      stack.pop_back();
      if ((!first_ && visited_.size() >= kNodeLimit) || !visited_.insert(node.get()).second) {
        continue;
      }
      kept_.push_back(node);
      FeedingNode feeding{node, {}};
      const Object next_functions = NextFunctions(torch_, node.get());
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next_functions.get()); ++i) {
        const NextFunction next = NextAt(next_functions.get(), i);
        bool is_input = false;
        for (std::size_t k = 0; k < inputs_.size(); ++k) {
          if (LeadsTo(torch_, next, inputs_[k])) {
            feeding.inputs.push_back({static_cast<std::size_t>(i), k});
            is_input = true;
          }
        }
        if (!is_input && next.node != Py_None && MadeByTheCall(next.node)) {
          stack.push_back(Object::Borrow(next.node));
        }
      }
      if (!feeding.inputs.empty()) {
        feeding_.push_back(std::move(feeding));
      }
    }
  }
  bool MadeByTheCall(PyObject* node) const {
    if (!first_) {
      return true;
    }
    if (torch_.IsAccumulateGrad(node)) {
      return false;
    }
    const std::optional<std::uint64_t> number = torch_.SequenceNumber(node);
    return !number || *number >= *first_;
  }
  std::vector<FeedingNode>& feeding() { return feeding_; }

 private:
  const TorchAccess& torch_;
  const std::vector<InputEdge>& inputs_;
  std::optional<std::uint64_t> first_;
  std::unordered_set<PyObject*> visited_;
  std::vector<Object> kept_;  // so that no address in visited_ is reused
  std::vector<FeedingNode> feeding_;
};

/// The API is one node if all outputs and all input edges hang on it.
bool IsSingleNode(const TorchAccess& torch, const std::vector<ComputedOutput>& outputs,
                  const std::vector<InputEdge>& inputs) {
  PyObject* node = outputs.front().grad_fn.get();
  if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.grad_fn.get() != node; })) {
    return false;
  }
  const Object next_functions = NextFunctions(torch, node);
  const Py_ssize_t count = PyTuple_GET_SIZE(next_functions.get());
  bool any = false;
  Py_ssize_t expected = 0;  // edges mostly have the order of the arguments: a stack of thousands stays linear
  for (const InputEdge& edge : inputs) {
    if (!edge.requires_grad) {
      continue;
    }
    bool found = false;
    for (Py_ssize_t tried = 0; tried < count && !found; ++tried) {
      const Py_ssize_t i = (expected + tried) % count;
      found = LeadsTo(torch, NextAt(next_functions.get(), i), edge);
      if (found) {
        expected = i + 1;
      }
    }
    if (!found) {
      return false;
    }
    any = true;
  }
  return any;
}

void HookSingleNode(const TorchAccess& torch, const std::shared_ptr<BackwardRecord>& record,
                    const std::vector<ComputedOutput>& outputs) {
  PyObject* node = outputs.front().grad_fn.get();
  NodeHook hook;
  hook.record = record;
  hook.whole_node = true;
  for (const ComputedOutput& output : outputs) {
    hook.outputs.push_back({static_cast<std::size_t>(output.number), output.position});
  }
  // Some nodes compute gradients that nobody asked for; only those that lead on are the API's.
  const Object next_functions = NextFunctions(torch, node);
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(next_functions.get()));
  record->input_gradients.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (NextAt(next_functions.get(), static_cast<Py_ssize_t>(i)).node != Py_None) {
      hook.inputs.push_back({i, i});
    }
  }
  Register(torch, node, std::move(hook));
}

void HookSeveralNodes(const TorchAccess& torch, const std::shared_ptr<BackwardRecord>& record,
                      const std::vector<ComputedOutput>& outputs, std::vector<FeedingNode>& feeding) {
  for (const FeedingNode& node : feeding) {
    for (const NodeHook::Pair& pair : node.inputs) {
      ++record->contributions[pair.call_position].expected;
    }
  }
  std::vector<PyObject*> hooked;
  for (const ComputedOutput& output : outputs) {
    PyObject* node = output.grad_fn.get();
    if (std::find(hooked.begin(), hooked.end(), node) != hooked.end()) {
      continue;
    }
    hooked.push_back(node);
    NodeHook hook;
    hook.record = record;
    hook.before = true;
    for (const ComputedOutput& other : outputs) {
      if (other.grad_fn.get() == node) {
        hook.outputs.push_back({static_cast<std::size_t>(other.number), other.position});
      }
    }
    const auto own = std::find_if(feeding.begin(), feeding.end(), [&](const auto& f) { return f.node.get() == node; });
    if (own != feeding.end()) {  // one hook on a node that is both an end and a beginning
      hook.before = false;
      hook.inputs = std::move(own->inputs);
      feeding.erase(own);
    }
    Register(torch, node, std::move(hook));
  }
  for (FeedingNode& node : feeding) {
    NodeHook hook;
    hook.record = record;
    hook.inputs = std::move(node.inputs);
    Register(torch, node.node.get(), std::move(hook));
  }
}

}  // namespace

std::vector<InputEdge> ReadInputEdges(const TorchAccess& torch, PyObject* arguments, PyObject* keywords) {
  std::vector<InputEdge> edges;
  const auto read = [&](PyObject* tensor) {
    InputEdge edge;
    edge.tensor = tensor;
    edge.requires_grad = torch.RequiresGrad(tensor);
    if (edge.requires_grad) {
      edge.grad_fn = Object::Steal(PyObject_GetAttr(tensor, torch.names().grad_fn));
      PyErr_Clear();
      if (edge.grad_fn.get() == Py_None) {
        edge.grad_fn = Object();
      } else if (edge.grad_fn) {
        edge.output_number = OutputNumber(torch, tensor);
      }
    }
    edges.push_back(std::move(edge));
  };
  ForEachTensor(torch, arguments, read);
  if (keywords != nullptr && keywords != Py_None) {
    ForEachTensor(torch, keywords, read);
  }
  return edges;
}

void HookGradients(const std::shared_ptr<Recording>& recording, ApiCall call, const std::vector<InputEdge>& inputs,
                   PyObject* output, std::optional<std::uint64_t> first_sequence_number) {
  const TorchAccess& torch = recording->torch;
  std::size_t tensor_count = 0;
  GraphWalk walk(torch, inputs, first_sequence_number);
  std::vector<ComputedOutput> outputs = ComputedOutputs(torch, inputs, output, tensor_count);
  std::erase_if(outputs, [&](const ComputedOutput& o) { return !walk.MadeByTheCall(o.grad_fn.get()); });
  if (outputs.empty()) {
    return;
  }
  auto record = std::make_shared<BackwardRecord>(recording, std::move(call));
  record->output_gradients.resize(tensor_count);
  if (IsSingleNode(torch, outputs, inputs)) {
    HookSingleNode(torch, record, outputs);
    return;
  }
  record->input_gradients.resize(inputs.size());
  record->contributions.resize(inputs.size());
  for (const ComputedOutput& computed : outputs) {
    walk.From(computed.grad_fn);
  }
  if (walk.feeding().empty()) {
    ++recording->unreached_inputs;
  }
  HookSeveralNodes(torch, record, outputs, walk.feeding());
}

void FinishOpenBackwards(Recording& recording) {
  while (!recording.open_backwards.empty()) {
    recording.open_backwards.begin()->second->Finish();  // takes itself out
  }
}

void InitialiseGradientHooks() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(NodeHookObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(DeallocateNodeHook)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"msprobe._core.NodeHook", sizeof(NodeHookObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  node_hook_type = reinterpret_cast<PyTypeObject*>(Checked(PyType_FromSpec(&spec)).get());
  Py_INCREF(node_hook_type);
}

}  // namespace msprobe
