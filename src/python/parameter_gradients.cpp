#include "python/parameter_gradients.h"

#include <utility>

#include "python/callable_type.h"
#include "python/guarded.h"
#include "python/recording.h"

namespace msprobe {

void ParameterGradients::Register(std::size_t module, const std::string& module_name,
                                  std::vector<std::string> parameters) {
  if (modules_.size() <= module) {
    modules_.resize(module + 1);
  }
  if (!modules_[module] || modules_[module]->parameters != parameters) {
    modules_[module].emplace();
    modules_[module]->name = module_name;
    modules_[module]->arrived.resize(parameters.size());
    modules_[module]->parameters = std::move(parameters);
  }
}

std::string ParameterGradients::RecordName(const Module& module) {
  return module.name + ".parameters_grad." + std::to_string(module.record_number);
}

void ParameterGradients::Arrived(Recording& recording, std::size_t index, std::size_t parameter, PyObject* gradient) {
  Collector& collector = recording.collector;
  const std::shared_ptr<ModuleCall> call = recording.modules.Latest(index);
  if (index >= modules_.size() || !modules_[index] || !call) {
    return;  // the module's forward was not collected in this step
  }
  Module& module = *modules_[index];
  if (parameter >= module.parameters.size()) {
    return;
  }
  if (module.arrived[parameter]) {
    Write(recording, module);  // the next accumulation has begun, though some parameters had none
  }
  if (module.arrived_count == 0) {
    module.admitted = collector.AdmitGradients(RecordName(module), *call);
  }
  if (module.admitted) {
    std::string stem;
    if (collector.SavesTensors(RecordName(module))) {
      stem = RecordName(module) + "." + module.parameters[parameter];
    }
    module.arrived[parameter] =
        collector.reads_values() ? recording.values.Capture(gradient, std::move(stem)) : Element();
  } else {
    module.arrived[parameter] = Element();
  }
  if (++module.arrived_count == module.parameters.size()) {
    Write(recording, module);
  }
}

void ParameterGradients::Write(Recording& recording, Module& module) {
  if (module.admitted) {
    Record record;
    record.name = RecordName(module);
    for (std::size_t i = 0; i < module.parameters.size(); ++i) {
      if (module.arrived[i] && recording.collector.reads_values()) {
        ElementList one;
        one.push_back(std::move(*module.arrived[i]));
        record.sections.push_back(Member{module.parameters[i], Element(std::move(one))});
      }
    }
    recording.collector.Add(std::move(record), {});
  }
  for (std::optional<Element>& element : module.arrived) {
    element.reset();
  }
  module.arrived_count = 0;
  ++module.record_number;
}

void ParameterGradients::FinishStep(Recording& recording) {
  for (std::optional<Module>& module : modules_) {
    if (!module) {
      continue;
    }
    if (module->arrived_count != 0) {
      Write(recording, *module);
    }
    module->record_number = 0;
  }
}

namespace {

struct ParameterHook {
  std::shared_ptr<Recording> recording;
  std::vector<std::pair<std::size_t, std::size_t>> owners;
  Object parameter;  ///< weak reference
};

CallableType<ParameterHook> parameter_hook_type;

PyObject* CallParameterHook(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* /*keywords*/) {
  const ParameterHook hook = CallableType<ParameterHook>::Of(self);
  const std::shared_ptr<Recording>& recording = hook.recording;
  if (recording->collector.writer() == nullptr || FrameworkAccess::Quiet::IsActive()) {
    Py_RETURN_NONE;
  }
  const Outcome outcome = Guarded(*recording, "recording the gradient of a parameter", [&] {
    const FrameworkAccess::Quiet quiet(recording->framework);
    const Object parameter = Object::Borrow(PyWeakref_GetObject(hook.parameter.get()));
    PyObject* argument = PyVectorcall_NARGS(flags) > 0 ? arguments[0] : Py_None;
    const Object gradient = recording->framework.ParameterGradient(parameter.get(), argument);
    for (const auto& [module, position] : hook.owners) {
      recording->parameter_gradients.Arrived(*recording, module, position, gradient.get());
    }
  });
  if (outcome == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

}  // namespace

Object MakeParameterHook(std::shared_ptr<Recording> recording, PyObject* parameter,
                         std::vector<std::pair<std::size_t, std::size_t>> owners) {
  Object reference = Checked(PyWeakref_NewRef(parameter, nullptr));
  return parameter_hook_type.Make({std::move(recording), std::move(owners), std::move(reference)});
}

void InitialiseParameterHooks() { parameter_hook_type.Initialise("msprobe._core.ParameterHook", CallParameterHook); }

}  // namespace msprobe
