#include "python/gradient_hooks.h"

#include <algorithm>
#include <utility>

#include "python/callable_type.h"
#include "python/guarded.h"
#include "python/node_hook.h"
#include "python/value_capture.h"

namespace msprobe {
namespace {

void HookSingleNode(const FrameworkAccess& framework, const std::shared_ptr<BackwardRecord>& record,
                    const std::vector<ComputedOutput>& outputs, std::size_t output_count, PyObject* next_functions) {
  PyObject* node = outputs.front().node.get();
  NodeHook hook;
  hook.record = record;
  hook.whole_node = true;
  for (const ComputedOutput& output : outputs) {
    hook.outputs.push_back({static_cast<std::size_t>(output.number), output.position});
  }
  for (const std::size_t position : WantedGradients(next_functions)) {
    hook.inputs.push_back({position, position});
  }
  record->Resize(output_count, static_cast<std::size_t>(PyTuple_GET_SIZE(next_functions)));
  RegisterNodeHook(framework, node, std::move(hook));
}

void HookSeveralNodes(const FrameworkAccess& framework, const std::shared_ptr<BackwardRecord>& record,
                      const std::vector<ComputedOutput>& outputs, std::vector<FeedingNode>& feeding) {
  for (const FeedingNode& node : feeding) {
    for (const GradientPair& pair : node.inputs) {
      record->ExpectContribution(pair.call_position);
    }
  }
  std::vector<std::uintptr_t> hooked;
  for (const ComputedOutput& output : outputs) {
    if (std::find(hooked.begin(), hooked.end(), output.identity) != hooked.end()) {
      continue;
    }
    hooked.push_back(output.identity);
    NodeHook hook;
    hook.record = record;
    hook.before = true;
    for (const ComputedOutput& other : outputs) {
      if (other.identity == output.identity) {
        hook.outputs.push_back({static_cast<std::size_t>(other.number), other.position});
      }
    }
    const auto own = std::find_if(feeding.begin(), feeding.end(), [&](const FeedingNode& f) {
      return framework.NodeIdentity(f.node.get()) == output.identity;
    });
    if (own != feeding.end()) {  // one hook on a node that is both an end and a beginning
      hook.before = false;
      hook.inputs = std::move(own->inputs);
      feeding.erase(own);
    }
    RegisterNodeHook(framework, output.node.get(), std::move(hook));
  }
  for (FeedingNode& node : feeding) {
    NodeHook hook;
    hook.record = record;
    hook.inputs = std::move(node.inputs);
    RegisterNodeHook(framework, node.node.get(), std::move(hook));
  }
}

/// Takes the gradient of one output where the framework shows no graph.
struct OutputHook {
  std::shared_ptr<BackwardRecord> record;
  std::size_t position;
  bool fired = false;
};

CallableType<OutputHook> output_hook_type;

PyObject* CallOutputHook(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* /*keywords*/) {
  OutputHook& hook = CallableType<OutputHook>::Of(self);
  const std::shared_ptr<BackwardRecord> record = hook.record;
  if (PyVectorcall_NARGS(flags) < 1 || std::exchange(hook.fired, true)) {
    Py_RETURN_NONE;
  }
  const std::size_t position = hook.position;
  Recording& recording = record->recording();
  const Outcome outcome = Guarded(recording, "recording a gradient", [&] {
    const FrameworkAccess::Quiet quiet(recording.framework);
    if (record->Begin()) {
      record->SetOutputGradient(position, arguments[0]);
    }
    record->HookDone();
  });
  if (outcome == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

void HookOutputs(const std::shared_ptr<Recording>& recording, GradientSubject subject, std::size_t input_count,
                 PyObject* output) {
  const FrameworkAccess& framework = recording->framework;
  std::vector<Object> tensors;
  ForEachTensor(framework, output, [&](PyObject* tensor) { tensors.push_back(Object::Borrow(tensor)); });
  std::shared_ptr<ModuleCall> module = subject.module;
  const auto record = std::make_shared<BackwardRecord>(recording, std::move(subject));
  record->Resize(tensors.size(), input_count);
  bool any = false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Object hook = output_hook_type.Make({record, i});
    try {
      const Object handle = framework.RegisterTensorHook(tensors[i].get(), hook.get());
      record->ExpectHook();
      any = true;
    } catch (const PythonError&) {
      PyErr_Clear();  // a tensor that gets no gradient
    }
  }
  if (any && module) {
    module->has_backward = true;
  }
}

}  // namespace

void InitialiseOutputHooks() { output_hook_type.Initialise("msprobe._core.OutputHook", CallOutputHook); }

void HookGradients(const std::shared_ptr<Recording>& recording, GradientSubject subject,
                   const std::vector<InputEdge>& inputs, PyObject* output,
                   std::optional<std::uint64_t> first_sequence_number) {
  const FrameworkAccess& framework = recording->framework;
  if (!framework.ShowsGraph()) {
    HookOutputs(recording, std::move(subject), inputs.size(), output);
    return;
  }
  std::size_t tensor_count = 0;
  const bool is_module = subject.module != nullptr;
  GraphWalk walk(framework, inputs, first_sequence_number,
                 is_module ? GraphWalk::kMostNodesOfModule : GraphWalk::kMostNodesOfCall);
  std::vector<ComputedOutput> outputs = ComputedOutputs(framework, inputs, output, tensor_count);
  std::erase_if(outputs, [&](const ComputedOutput& o) { return !walk.MadeByTheCall(o.node.get()); });
  if (outputs.empty()) {
    return;
  }
  if (is_module) {
    subject.module->has_backward = true;
  }
  auto record = std::make_shared<BackwardRecord>(recording, std::move(subject));
  // A module's record has one entry per tensor argument whatever it is made of.
  const bool may_be_single = !is_module && framework.RecordsWholeNodes();
  const Object edges = may_be_single ? EdgesOfSingleNode(framework, outputs, inputs) : Object();
  if (edges) {
    HookSingleNode(framework, record, outputs, tensor_count, edges.get());
    return;
  }
  record->Resize(tensor_count, inputs.size());
  for (const ComputedOutput& computed : outputs) {
    walk.From(computed.node);
  }
  const bool wants_gradients =
      std::any_of(inputs.begin(), inputs.end(), [](const InputEdge& edge) { return edge.requires_grad; });
  if (walk.feeding().empty() && wants_gradients) {
    ++recording->unreached_inputs;
  }
  if (walk.feeding().empty() && is_module) {
    // Nothing says when the module's backward has ended but its own last node.
    if (Object last = walk.Earliest()) {
      walk.feeding().push_back({std::move(last), {}});
    }
  }
  HookSeveralNodes(framework, record, outputs, walk.feeding());
}

}  // namespace msprobe
