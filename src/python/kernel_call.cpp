#include "python/kernel_call.h"

#include "python/graph_walk.h"
#include "python/guarded.h"
#include "python/outermost_call.h"
#include "python/value_capture.h"

namespace msprobe {
namespace {

Object TensorAt(const FrameworkAccess& framework, PyObject* output, std::size_t position) {
  Object found;
  std::size_t index = 0;
  ForEachTensor(framework, output, [&](PyObject* tensor) {
    if (index++ == position) {
      found = Object::Borrow(tensor);
    }
  });
  return found;
}

void WatchBackward(Recording& recording, GraphWalk walk, const std::vector<InputEdge>& inputs, PyObject* output) {
  const FrameworkAccess& framework = recording.framework;
  std::size_t tensor_count = 0;
  const std::vector<ComputedOutput> outputs = ComputedOutputs(framework, inputs, output, tensor_count);
  for (const ComputedOutput& computed : outputs) {
    walk.From(computed.node);
  }
  const Object last = Checked(PyList_New(0));
  for (const FeedingNode& node : walk.feeding()) {
    if (PyList_Append(last.get(), node.node.get()) != 0) {
      throw PythonError{};
    }
  }
  const Object first = outputs.empty() ? Object() : TensorAt(framework, output, outputs.front().position);
  Checked(PyObject_CallMethod(recording.kernel_dump.get(), "around_backward", "OO", first ? first.get() : Py_None,
                              last.get()));
}

PyObject* CallAndWatchBackward(Recording& recording, PyObject* function, PyObject* arguments, PyObject* keywords) {
  std::vector<InputEdge> inputs;
  std::optional<std::uint64_t> began;
  const Outcome read = Guarded(recording, "looking for the backward of an API", [&] {
    const FrameworkAccess::Quiet quiet(recording.framework);
    inputs = ReadInputEdges(recording.framework, arguments, keywords);
    began = recording.framework.NextSequenceNumber();
  });
  if (read == Outcome::kInterrupted) {
    return nullptr;
  }
  Object output = Object::Steal(PyObject_Call(function, arguments, keywords));
  if (!output || read == Outcome::kFailed) {
    return output.Release();
  }
  const Outcome watched = Guarded(recording, "watching the backward of an API", [&] {
    const FrameworkAccess::Quiet quiet(recording.framework);
    WatchBackward(recording, GraphWalk(recording.framework, inputs, began, GraphWalk::kMostNodesOfCall), inputs,
                  output.get());
  });
  return watched == Outcome::kInterrupted ? nullptr : output.Release();
}

}  // namespace

PyObject* KernelDumpedCall(Recording& recording, std::size_t api, PyObject* function, PyObject* arguments,
                           PyObject* keywords) {
  const Call call = recording.collector.BeginCall(api);
  const OutermostCall running;
  const std::string& wanted = recording.collector.settings().kernel_name;
  PyObject* output = nullptr;
  if (call.forward_name == wanted) {
    output = PyObject_CallMethod(recording.kernel_dump.get(), "around", "OOO", function, arguments,
                                 keywords == nullptr ? Py_None : keywords);
  } else if (call.Name(Direction::kBackward) == wanted) {
    recording.collector.AdmitBackward(call, nullptr);  // so that the filters know that it occurred
    output = CallAndWatchBackward(recording, function, arguments, keywords);
  } else {
    output = PyObject_Call(function, arguments, keywords);
  }
  if (output == nullptr) {
    recording.collector.AbandonCall(call, {});
  }
  return output;
}

}  // namespace msprobe
