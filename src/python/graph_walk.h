#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "python/framework_access.h"
#include "python/object.h"

namespace msprobe {

/// The edge of the autograd graph that an input of a call hangs on, read before the call (an in-place call moves it).
struct InputEdge {
  bool requires_grad = false;
  Object leaf;                  ///< the tensor itself if it is a leaf that requires grad: the graph keeps it as well
  Object node;                  ///< null for a leaf that is told by its tensor
  std::uintptr_t identity = 0;  ///< of the node
  long output_number = 0;
};

/// The edges of all tensor arguments in call order: positional depth-first, then keywords.
std::vector<InputEdge> ReadInputEdges(const FrameworkAccess& framework, PyObject* arguments, PyObject* keywords);

/// An output of the call that was computed by it, with its place in the graph.
struct ComputedOutput {
  Object node;
  std::uintptr_t identity;  ///< of the node
  long number;
  std::size_t position;  ///< among the tensors of the output
};

/// Outputs of a call that nodes made by it compute. Outputs that hang on an input's own edge were handed back
/// unchanged: no gradient is computed for them. `tensor_count`: how many tensors the output holds.
std::vector<ComputedOutput> ComputedOutputs(const FrameworkAccess& framework, const std::vector<InputEdge>& inputs,
                                            PyObject* output, std::size_t& tensor_count);

/// One outgoing gradient of a node that belongs to a tensor argument of the call.
struct GradientPair {
  std::size_t node_position;
  std::size_t call_position;
};

/// A node that feeds inputs of the call.
struct FeedingNode {
  Object node;
  std::vector<GradientPair> inputs;
};

/// Walks the graph between the outputs of a call and the edges its inputs hung on. Bounded (decisions 4): nodes made
/// before the call are not entered. Where torch numbers no nodes, at most so many are.
class GraphWalk {
 public:
  static constexpr std::size_t kMostNodesOfCall = 64;
  static constexpr std::size_t kMostNodesOfModule = 4096;

  /// `first`: autograd's sequence number when the call began, if torch has one; else `most_nodes` bounds the walk.
  GraphWalk(const FrameworkAccess& framework, const std::vector<InputEdge>& inputs, std::optional<std::uint64_t> first,
            std::size_t most_nodes)
      : framework_(framework), inputs_(inputs), first_(first), most_nodes_(most_nodes) {}

  bool MadeByTheCall(PyObject* node) const;
  void From(const Object& start);
  std::vector<FeedingNode>& feeding() { return feeding_; }
  /// The node made first of those visited: autograd runs it last. After From; null where torch numbers no nodes.
  Object Earliest() const;

 private:
  const FrameworkAccess& framework_;
  const std::vector<InputEdge>& inputs_;
  std::optional<std::uint64_t> first_;
  std::size_t most_nodes_;
  std::unordered_set<std::uintptr_t> visited_;
  std::vector<Object> kept_;  // so that no identity in visited_ is reused
  std::vector<FeedingNode> feeding_;
};

/// The node's `next_functions` if the API is one node: all outputs and all input edges hang on it (decisions 5). Null
/// if it is not.
Object EdgesOfSingleNode(const FrameworkAccess& framework, const std::vector<ComputedOutput>& outputs,
                         const std::vector<InputEdge>& inputs);

/// Positions of the outgoing gradients that lead on. Some nodes compute gradients that nobody asked for.
std::vector<std::size_t> WantedGradients(PyObject* next_functions);

}  // namespace msprobe
