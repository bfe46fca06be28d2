#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "python/object.h"
#include "record/element.h"

namespace msprobe {

struct Recording;

/// The records `{module}.parameters_grad.{k}`: for each module its parameters' gradients as they are after accumulation
/// (pytorch_dump.md 4.2). k counts the accumulations of the step. A record is written when all of the module's
/// parameters have theirs; at the end of the step with those that have.
class ParameterGradients {
 public:
  /// A parameter of a module, by the module's index in the collector.
  void Register(std::size_t module, const std::string& module_name, std::vector<std::string> parameters);
  /// A gradient has been accumulated.
  void Arrived(Recording& recording, std::size_t module, std::size_t parameter, PyObject* gradient);
  void FinishStep(Recording& recording);

 private:
  struct Module {
    std::string name;
    std::vector<std::string> parameters;
    std::vector<std::optional<Element>> arrived;
    std::size_t arrived_count = 0;
    std::uint64_t record_number = 0;
    bool admitted = false;
  };
  static std::string RecordName(const Module& module);
  static void Write(Recording& recording, Module& module);

  std::vector<std::optional<Module>> modules_;  // by index in the collector
};

/// A hook for a parameter's gradient, called after accumulation with the parameter, or by the node that accumulates;
/// `owners`: (module index, position among the module's parameters). Holds the parameter weakly. Throws PythonError.
Object MakeParameterHook(std::shared_ptr<Recording> recording, PyObject* parameter,
                         std::vector<std::pair<std::size_t, std::size_t>> owners);

/// Creates the hook's type; once, at import. Throws PythonError.
void InitialiseParameterHooks();

}  // namespace msprobe
