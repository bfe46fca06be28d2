#include "python/graph_walk.h"

#include <algorithm>
#include <utility>

#include "python/value_capture.h"

namespace msprobe {
namespace {

long OutputNumber(const FrameworkAccess& framework, PyObject* tensor) {
  Object number = Checked(PyObject_GetAttr(tensor, framework.names().output_number));
  return PyLong_AsLong(number.get());
}

/// One step of the backward graph: (next node or None, its input number).
struct NextFunction {
  PyObject* node;
  long number;
};

Object NextFunctions(const FrameworkAccess& framework, PyObject* node) {
  return Checked(PyObject_GetAttr(node, framework.names().next_functions));
}

NextFunction NextAt(PyObject* next_functions, Py_ssize_t i) {
  PyObject* pair = PyTuple_GET_ITEM(next_functions, i);
  return {PyTuple_GET_ITEM(pair, 0), PyLong_AsLong(PyTuple_GET_ITEM(pair, 1))};
}

/// What an edge of the graph leads to: a node's input, or a leaf. Fetched once, compared with many input edges.
class Target {
 public:
  Target(const FrameworkAccess& framework, const NextFunction& next) : number_(next.number) {
    if (next.node != Py_None) {
      identity_ = framework.NodeIdentity(next.node);
      if (framework.IsLeafNode(next.node)) {
        leaf_ = framework.LeafOf(next.node);
      }
    }
  }
  bool Is(const InputEdge& edge) const {
    if (edge.node) {
      return identity_ == edge.identity && number_ == edge.output_number;
    }
    return edge.leaf && leaf_.get() == edge.leaf.get();
  }

 private:
  std::uintptr_t identity_ = 0;
  long number_;
  Object leaf_;
};

}  // namespace

std::vector<InputEdge> ReadInputEdges(const FrameworkAccess& framework, PyObject* arguments, PyObject* keywords) {
  std::vector<InputEdge> edges;
  const auto read = [&](PyObject* tensor) {
    InputEdge edge;
    edge.requires_grad = framework.RequiresGrad(tensor);
    if (edge.requires_grad) {
      edge.node = framework.Node(tensor);
      if (edge.node) {
        edge.identity = framework.NodeIdentity(edge.node.get());
        edge.output_number = OutputNumber(framework, tensor);
      } else {
        edge.leaf = Object::Borrow(tensor);
      }
    }
    edges.push_back(std::move(edge));
  };
  ForEachTensor(framework, arguments, read);
  if (keywords != nullptr && keywords != Py_None && framework.RecordsGradientsOfKeywords()) {
    ForEachTensor(framework, keywords, read);
  }
  return edges;
}

std::vector<ComputedOutput> ComputedOutputs(const FrameworkAccess& framework, const std::vector<InputEdge>& inputs,
                                            PyObject* output, std::size_t& tensor_count) {
  std::vector<ComputedOutput> computed;
  tensor_count = 0;
  ForEachTensor(framework, output, [&](PyObject* tensor) {
    const std::size_t position = tensor_count++;
    Object node = framework.Node(tensor);
    if (!node) {
      return;
    }
    const std::uintptr_t identity = framework.NodeIdentity(node.get());
    const long number = OutputNumber(framework, tensor);
    const bool handed_back = std::any_of(inputs.begin(), inputs.end(), [&](const InputEdge& edge) {
      return edge.node && edge.identity == identity && edge.output_number == number;
    });
    if (!handed_back) {
      computed.push_back({std::move(node), identity, number, position});
    }
  });
  return computed;
}

bool GraphWalk::MadeByTheCall(PyObject* node) const {
  if (!first_) {
    return true;
  }
  if (framework_.IsLeafNode(node)) {
    return false;
  }
  const std::optional<std::uint64_t> number = framework_.SequenceNumber(node);
  return !number || *number >= *first_;
}

void GraphWalk::From(const Object& start) {
  std::vector<Object> stack{start};
  while (!stack.empty()) {
    const Object node = std::move(stack.back());
    stack.pop_back();
    if ((!first_ && visited_.size() >= most_nodes_) || !visited_.insert(framework_.NodeIdentity(node.get())).second) {
      continue;
    }
    kept_.push_back(node);
    FeedingNode feeding{node, {}};
    const Object next_functions = NextFunctions(framework_, node.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next_functions.get()); ++i) {
      const NextFunction next = NextAt(next_functions.get(), i);
      bool is_input = false;
      const Target target(framework_, next);
      for (std::size_t k = 0; k < inputs_.size(); ++k) {
        if (target.Is(inputs_[k])) {
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

Object GraphWalk::Earliest() const {
  Object earliest;
  std::uint64_t smallest = 0;
  for (const Object& node : kept_) {
    const std::optional<std::uint64_t> number = first_ ? framework_.SequenceNumber(node.get()) : std::nullopt;
    if (number && (!earliest || *number < smallest)) {
      earliest = node;
      smallest = *number;
    }
  }
  return earliest;
}

Object EdgesOfSingleNode(const FrameworkAccess& framework, const std::vector<ComputedOutput>& outputs,
                         const std::vector<InputEdge>& inputs) {
  PyObject* node = outputs.front().node.get();
  const std::uintptr_t identity = outputs.front().identity;
  if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.identity != identity; })) {
    return {};
  }
  Object next_functions = NextFunctions(framework, node);
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
      found = Target(framework, NextAt(next_functions.get(), i)).Is(edge);
      if (found) {
        expected = i + 1;
      }
    }
    if (!found) {
      return {};
    }
    any = true;
  }
  return any ? next_functions : Object();
}

std::vector<std::size_t> WantedGradients(PyObject* next_functions) {
  std::vector<std::size_t> wanted;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next_functions); ++i) {
    if (NextAt(next_functions, i).node != Py_None) {
      wanted.push_back(static_cast<std::size_t>(i));
    }
  }
  return wanted;
}

}  // namespace msprobe
