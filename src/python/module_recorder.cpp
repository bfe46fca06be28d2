#include "python/module_recorder.h"

#include <cstddef>
#include <utility>

#include "python/callable_type.h"
#include "python/frames.h"
#include "python/gradient_hooks.h"
#include "python/guarded.h"
#include "python/module_stack.h"

namespace msprobe {
namespace {

struct ModuleHook {
  std::shared_ptr<Recording> recording;
  std::size_t module;
  bool before;
};

CallableType<ModuleHook> module_hook_type;

/// The exception that is being handled on this thread, or null.
Object HandledException() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_GetExcInfo(&type, &value, &traceback);
  Object handled = Object::Steal(value);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return handled.get() == Py_None ? Object() : handled;
}

/// Whether the call of `instance` is on this thread's Python stack. `code` runs in the frame of every module call.
bool IsRunning(PyObject* instance, PyObject* code) {
  for (Object frame = CurrentFrame(); frame; frame = CallerOf(frame.get())) {
    if (CodeOf(frame.get()).get() == code) {
      Object locals = Object::Steal(PyObject_GetAttrString(frame.get(), "f_locals"));
      Object self = locals ? Object::Steal(PyMapping_GetItemString(locals.get(), "self")) : Object();
      PyErr_Clear();
      if (self.get() == instance) {
        return true;
      }
    }
  }
  return false;
}

void AddForward(Recording& recording, OpenModule& open) {
  const StackDescription stack = recording.DescribeStack();
  MarkRecomputed(open.forward, stack);
  recording.collector.AddModule(std::move(open.forward), stack.text, open.module, Direction::kForward);
}

/// Writes what there is of a call without an output.
void FinishInnermost(Recording& recording, const OpenModule& innermost) {
  std::optional<OpenModule> open = ModuleStack::Pop(recording, innermost.instance);
  recording.collector.EndModule(*open->module);
  if (open->module->call.keeps_forward) {
    AddForward(recording, *open);
  }
}

void FinishEndedModules(Recording& recording) {
  PyObject* code = recording.framework.module_call_code();
  if (code == nullptr) {
    return;
  }
  while (const OpenModule* innermost = ModuleStack::Innermost(recording)) {
    if (IsRunning(innermost->instance, code)) {
      return;
    }
    FinishInnermost(recording, *innermost);
  }
}

std::shared_ptr<ModuleCall> Parent(Recording& recording, std::size_t module) {
  if (std::shared_ptr<ModuleCall> outer = RunningModule(recording)) {
    return outer;
  }
  return recording.framework.IsInBackward() ? recording.modules.Enclosing(module) : nullptr;
}

void Begin(Recording& recording, std::size_t module, PyObject* instance, PyObject* arguments, PyObject* keywords) {
  Collector& collector = recording.collector;
  OpenModule open;
  open.module = collector.BeginModule(module, Parent(recording, module));
  open.instance = instance;
  open.recording = &recording;
  open.step = collector.step();
  open.handled = HandledException();
  recording.modules.Began(module, open.module);
  const Call& call = open.module->call;
  if (collector.data_mode().backward) {
    open.inputs = ReadInputEdges(recording.framework, arguments, keywords);
    open.sequence_number = recording.framework.NextSequenceNumber();
  }
  open.forward.name = call.forward_name;
  if (call.keeps_forward) {
    recording.AddInputs(open.forward, arguments, keywords);
  }
  ModuleStack::Push(std::move(open));
}

void AddParameters(Recording& recording, OpenModule& open, PyObject* instance) {
  if (!recording.collector.reads_inputs()) {
    return;
  }
  Object parameters = Object::Steal(PyObject_GetAttr(instance, recording.framework.names().parameters));
  if (!parameters || PyDict_Check(parameters.get()) == 0) {
    PyErr_Clear();
    return;
  }
  open.forward.sections.push_back(
      Member{"parameters", recording.values.CaptureParameters(parameters.get(), open.forward.name)});
}

void End(const std::shared_ptr<Recording>& recording, PyObject* instance, PyObject* output) {
  Collector& collector = recording->collector;
  std::optional<OpenModule> open = ModuleStack::Pop(*recording, instance);
  if (!open || open->step != collector.step()) {
    return;
  }
  // After an exception torch calls this hook as well, with no output; inner records stay, so does what was begun.
  Object handled = HandledException();
  const bool raised = output == Py_None && handled && handled.get() != open->handled.get();
  collector.EndModule(*open->module);
  if (open->module->call.keeps_forward) {
    if (!raised) {
      recording->AddOutput(open->forward, output);
      AddParameters(*recording, *open, instance);
    }
    AddForward(*recording, *open);
  }
  if (collector.data_mode().backward && !raised) {
    HookGradients(recording, GradientSubject{{}, open->module, {}}, open->inputs, output, open->sequence_number);
  }
}

PyObject* CallModuleHook(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* /*keywords*/) {
  const ModuleHook hook = CallableType<ModuleHook>::Of(self);
  const std::shared_ptr<Recording>& recording = hook.recording;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (count < 2 || !recording->TakesCalls()) {
    Py_RETURN_NONE;
  }
  const char* where = hook.before ? "recording the inputs of a module" : "recording the output of a module";
  const Outcome outcome = Guarded(*recording, where, [&] {
    const FrameworkAccess::Quiet quiet(recording->framework);
    if (hook.before) {
      Begin(*recording, hook.module, arguments[0], arguments[1], count > 2 ? arguments[2] : nullptr);
    } else if (count > 2) {
      End(recording, arguments[0], arguments[count - 1]);  // some frameworks hand out the keywords before it
    }
  });
  if (outcome == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace

void FinishOpenModules(Recording& recording) {
  const FrameworkAccess::Quiet quiet(recording.framework);
  while (const OpenModule* innermost = ModuleStack::Innermost(recording)) {
    FinishInnermost(recording, *innermost);
  }
}

std::shared_ptr<ModuleCall> RunningModule(Recording& recording) {
  FinishEndedModules(recording);
  const OpenModule* innermost = ModuleStack::Innermost(recording);
  return innermost == nullptr ? nullptr : innermost->module;
}

Object MakeModuleHook(std::shared_ptr<Recording> recording, std::size_t module, bool before) {
  return module_hook_type.Make({std::move(recording), module, before});
}

void InitialiseModuleHooks() { module_hook_type.Initialise("msprobe._core.ModuleHook", CallModuleHook); }

}  // namespace msprobe
