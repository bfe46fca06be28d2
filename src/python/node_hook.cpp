#include "python/node_hook.h"

#include <utility>

#include "python/callable_type.h"
#include "python/guarded.h"

namespace msprobe {
namespace {

CallableType<NodeHook> node_hook_type;

void TakeGradients(NodeHook& hook, PyObject* outgoing, PyObject* incoming) {
  BackwardRecord& record = *hook.record;
  for (const GradientPair& pair : hook.outputs) {
    if (PyTuple_Check(incoming) && static_cast<Py_ssize_t>(pair.node_position) < PyTuple_GET_SIZE(incoming)) {
      record.SetOutputGradient(pair.call_position,
                               PyTuple_GET_ITEM(incoming, static_cast<Py_ssize_t>(pair.node_position)));
    }
  }
  if (outgoing == nullptr || !PyTuple_Check(outgoing)) {
    return;
  }
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(outgoing));
  for (const GradientPair& pair : hook.inputs) {
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
  NodeHook& hook = CallableType<NodeHook>::Of(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  // The hook may be the last owner of the record and is itself freed if the node goes while it runs.
  const std::shared_ptr<BackwardRecord> record = hook.record;
  Recording& recording = record->recording();
  if (hook.fired || count < 1) {
    Py_RETURN_NONE;
  }
  hook.fired = true;
  const Outcome outcome = Guarded(recording, "recording a gradient", [&] {
    const FrameworkAccess::Quiet quiet(recording.framework);
    if (record->Begin()) {
      PyObject* outgoing = hook.before ? nullptr : arguments[0];
      PyObject* incoming = hook.before ? arguments[0] : count >= 2 ? arguments[1] : Py_None;
      TakeGradients(hook, outgoing, incoming);
    }
    record->HookDone();
  });
  if (outcome == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace

void RegisterNodeHook(const FrameworkAccess& framework, PyObject* node, NodeHook hook) {
  const Object object = node_hook_type.Make(std::move(hook));
  NodeHook& made = CallableType<NodeHook>::Of(object.get());
  Object registered;
  if (made.before) {
    registered = Object::Steal(PyObject_CallMethodOneArg(node, framework.names().register_prehook, object.get()));
    if (!registered && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
      PyErr_Clear();
      made.before = false;
    }
  }
  if (!registered) {
    if (made.before) {
      throw PythonError{};
    }
    Checked(PyObject_CallMethodOneArg(node, framework.names().register_hook, object.get()));
  }
  made.record->ExpectHook();
}

void InitialiseNodeHooks() { node_hook_type.Initialise("msprobe._core.NodeHook", CallNodeHook); }

}  // namespace msprobe
