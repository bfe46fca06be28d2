#include "python/node_hook.h"

#include <structmember.h>

#include <cstddef>
#include <exception>
#include <utility>

namespace msprobe {
namespace {

struct NodeHookObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  NodeHook* hook;
};

PyTypeObject* node_hook_type = nullptr;

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

void Deallocate(PyObject* self) {
  delete reinterpret_cast<NodeHookObject*>(self)->hook;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

void RegisterNodeHook(const TorchAccess& torch, PyObject* node, NodeHook hook) {
  Object object = Checked(node_hook_type->tp_alloc(node_hook_type, 0));
  auto* raw = reinterpret_cast<NodeHookObject*>(object.get());
  raw->vectorcall = CallNodeHook;
  raw->hook = new NodeHook(std::move(hook));
  Object registered;
  if (raw->hook->before) {
    registered = Object::Steal(PyObject_CallMethodOneArg(node, torch.names().register_prehook, object.get()));
    if (!registered && PyErr_ExceptionMatches(PyExc_AttributeError) != 0) {
      PyErr_Clear();
      raw->hook->before = false;
    }
  }
  if (!registered) {
    if (raw->hook->before) {
      throw PythonError{};
    }
    Checked(PyObject_CallMethodOneArg(node, torch.names().register_hook, object.get()));
  }
  raw->hook->record->ExpectHook();
}

void InitialiseNodeHooks() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(NodeHookObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {0, nullptr}};
  static PyType_Spec spec = {"msprobe._core.NodeHook", sizeof(NodeHookObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  node_hook_type = reinterpret_cast<PyTypeObject*>(Checked(PyType_FromSpec(&spec)).get());
  Py_INCREF(node_hook_type);
}

}  // namespace msprobe
