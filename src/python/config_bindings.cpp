#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "config/custom_ops.h"
#include "config/support_list.h"
#include "python/bindings.h"

namespace nb = nanobind;

namespace msprobe {
namespace {

/// The support list with its overlays: category -> names. `list_names(category, module)` gives the names of the
/// functions that the category has in one of its modules ("" for its own, "linalg"); it is asked for patterns only.
nb::dict ResolvedSupportList(Framework framework, const std::string& path, const std::vector<std::string>& overlays,
                             const nb::object& list_names) {
  const SupportList list = ValueOrRaise(LoadSupportList(framework, path, overlays));
  nb::dict result;
  for (const auto& [category, names] : list.categories) {
    std::vector<std::string> candidates;
    for (const std::string& module :
         list_names.is_none() ? std::vector<std::string>() : list.PatternModules(category)) {
      for (std::string& name : nb::cast<std::vector<std::string>>(list_names(category, module))) {
        candidates.push_back(module.empty() ? std::move(name) : module + "." + name);
      }
    }
    result[category.c_str()] = nb::cast(list.Resolve(category, candidates));
  }
  return result;
}

}  // namespace

void BindConfig(nb::module_& m) {
  m.def("pytorch_support_list",
        [](const std::string& path, const std::vector<std::string>& overlays, const nb::object& list_names) {
          return ResolvedSupportList(Framework::kPyTorch, path, overlays, list_names);
        });
  m.def("mindspore_support_list",
        [](const std::string& path, const std::vector<std::string>& overlays, const nb::object& list_names) {
          return ResolvedSupportList(Framework::kMindSpore, path, overlays, list_names);
        });
  m.def("pytorch_custom_ops", [](const std::string& path) {
    CustomOps ops = ValueOrRaise(LoadCustomOps(path));
    std::vector<std::pair<std::string, std::vector<std::string>>> modules;
    for (CustomModule& module : ops.modules) {
      modules.emplace_back(std::move(module.path), std::move(module.functions));
    }
    return std::pair(std::move(modules), std::move(ops.warnings));
  });
}

}  // namespace msprobe
