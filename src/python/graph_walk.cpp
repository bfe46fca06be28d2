#include "python/graph_walk.h"

#include <algorithm>
#include <utility>

#include "python/value_capture.h"

namespace msprobe {
namespace {

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

/// What an edge of the graph leads to: a node's input, or a leaf. Fetched once, compared with many input edges.
class Target {
 public:
  Target(const TorchAccess& torch, const NextFunction& next) : next_(next) {
    if (next.node != Py_None && torch.IsAccumulateGrad(next.node)) {
      leaf_ = Object::Steal(PyObject_GetAttr(next.node, torch.names().variable));
      PyErr_Clear();
    }
  }
  bool Is(const InputEdge& edge) const {
    if (edge.grad_fn) {
      return next_.node == edge.grad_fn.get() && next_.number == edge.output_number;
    }
    return edge.leaf && leaf_.get() == edge.leaf.get();
  }

 private:
  NextFunction next_;
  Object leaf_;
};

}  // namespace

std::vector<InputEdge> ReadInputEdges(const TorchAccess& torch, PyObject* arguments, PyObject* keywords) {
  std::vector<InputEdge> edges;
  const auto read = [&](PyObject* tensor) {
    InputEdge edge;
    edge.requires_grad = torch.RequiresGrad(tensor);
    if (edge.requires_grad) {
      edge.grad_fn = Object::Steal(PyObject_GetAttr(tensor, torch.names().grad_fn));
      PyErr_Clear();
      if (edge.grad_fn.get() == Py_None) {
        edge.grad_fn = Object();
        edge.leaf = Object::Borrow(tensor);
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

bool GraphWalk::MadeByTheCall(PyObject* node) const {
  if (!first_) {
    return true;
  }
  if (torch_.IsAccumulateGrad(node)) {
    return false;
  }
  const std::optional<std::uint64_t> number = torch_.SequenceNumber(node);
  return !number || *number >= *first_;
}

void GraphWalk::From(const Object& start) {
  std::vector<Object> stack{start};
  while (!stack.empty()) {
    const Object node = std::move(stack.back());
    stack.pop_back();
    if ((!first_ && visited_.size() >= most_nodes_) || !visited_.insert(node.get()).second) {
      continue;
    }
    kept_.push_back(node);
    FeedingNode feeding{node, {}};
    const Object next_functions = NextFunctions(torch_, node.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(next_functions.get()); ++i) {
      const NextFunction next = NextAt(next_functions.get(), i);
      bool is_input = false;
      const Target target(torch_, next);
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
    const std::optional<std::uint64_t> number = first_ ? torch_.SequenceNumber(node.get()) : std::nullopt;
    if (number && (!earliest || *number < smallest)) {
      earliest = node;
      smallest = *number;
    }
  }
  return earliest;
}

Object EdgesOfSingleNode(const TorchAccess& torch, const std::vector<ComputedOutput>& outputs,
                         const std::vector<InputEdge>& inputs) {
  PyObject* node = outputs.front().grad_fn.get();
  if (std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.grad_fn.get() != node; })) {
    return {};
  }
  Object next_functions = NextFunctions(torch, node);
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
      found = Target(torch, NextAt(next_functions.get(), i)).Is(edge);
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
