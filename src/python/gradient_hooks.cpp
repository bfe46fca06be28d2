#include "python/gradient_hooks.h"

#include <algorithm>
#include <utility>

#include "python/node_hook.h"

namespace msprobe {
namespace {

void HookSingleNode(const TorchAccess& torch, const std::shared_ptr<BackwardRecord>& record,
                    const std::vector<ComputedOutput>& outputs, std::size_t output_count, PyObject* next_functions) {
  PyObject* node = outputs.front().grad_fn.get();
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
  RegisterNodeHook(torch, node, std::move(hook));
}

void HookSeveralNodes(const TorchAccess& torch, const std::shared_ptr<BackwardRecord>& record,
                      const std::vector<ComputedOutput>& outputs, std::vector<FeedingNode>& feeding) {
  for (const FeedingNode& node : feeding) {
    for (const GradientPair& pair : node.inputs) {
      record->ExpectContribution(pair.call_position);
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
    RegisterNodeHook(torch, node, std::move(hook));
  }
  for (FeedingNode& node : feeding) {
    NodeHook hook;
    hook.record = record;
    hook.inputs = std::move(node.inputs);
    RegisterNodeHook(torch, node.node.get(), std::move(hook));
  }
}

}  // namespace

void HookGradients(const std::shared_ptr<Recording>& recording, GradientSubject subject,
                   const std::vector<InputEdge>& inputs, PyObject* output,
                   std::optional<std::uint64_t> first_sequence_number) {
  const TorchAccess& torch = recording->torch;
  std::size_t tensor_count = 0;
  const bool is_module = subject.module != nullptr;
  GraphWalk walk(torch, inputs, first_sequence_number,
                 is_module ? GraphWalk::kMostNodesOfModule : GraphWalk::kMostNodesOfCall);
  std::vector<ComputedOutput> outputs = ComputedOutputs(torch, inputs, output, tensor_count);
  std::erase_if(outputs, [&](const ComputedOutput& o) { return !walk.MadeByTheCall(o.grad_fn.get()); });
  if (outputs.empty()) {
    return;
  }
  if (is_module) {
    subject.module->has_backward = true;
  }
  auto record = std::make_shared<BackwardRecord>(recording, std::move(subject));
  // A module's record has one entry per tensor argument whatever it is made of.
  const Object edges = is_module ? Object() : EdgesOfSingleNode(torch, outputs, inputs);
  if (edges) {
    HookSingleNode(torch, record, outputs, tensor_count, edges.get());
    return;
  }
  record->Resize(tensor_count, inputs.size());
  for (const ComputedOutput& computed : outputs) {
    walk.From(computed.grad_fn);
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
  HookSeveralNodes(torch, record, outputs, walk.feeding());
}

}  // namespace msprobe
