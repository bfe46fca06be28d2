#pragma once

#include <memory>
#include <vector>

#include "python/backward_record.h"
#include "python/graph_walk.h"

namespace msprobe {

/// What one hook takes from its autograd node: gradients of call outputs from the node's incoming ones, gradients of
/// call inputs from its outgoing ones.
struct NodeHook {
  std::shared_ptr<BackwardRecord> record;
  std::vector<GradientPair> outputs;  ///< incoming gradient of the node -> output of the call
  std::vector<GradientPair> inputs;   ///< outgoing gradient of the node -> tensor argument of the call
  bool whole_node = false;  ///< the API is this one node: its outgoing gradients are the record's, in its order
  bool before = false;      ///< called with the incoming gradients, before the node runs
  bool fired = false;
};

/// Puts the hook on the node; the graph owns it from then on. Where torch has no pre-hooks on nodes (before 2.0) one
/// that is to be called before is called after. Throws PythonError.
void RegisterNodeHook(const FrameworkAccess& framework, PyObject* node, NodeHook hook);

/// Creates the hook's type; once, at import. Throws PythonError.
void InitialiseNodeHooks();

}  // namespace msprobe
