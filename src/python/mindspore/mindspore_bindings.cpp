#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings.h"
#include "python/dump_session.h"
#include "python/mindspore/mindspore_access.h"

namespace nb = nanobind;

namespace msprobe {
namespace {

/// The collection of a debugger for MindSpore.
class MindSporeSession : public DumpSession {
 public:
  MindSporeSession(const DumpSettingsRequest& request, const nb::object& helpers, const std::string& tool_folder)
      : DumpSession(Translated([&] {
          return std::make_shared<Recording>(
              WithUsableFilters(ValueOrRaise(LoadDumpSettings(request, Framework::kMindSpore))), Framework::kMindSpore,
              std::make_unique<MindSporeAccess>(helpers.ptr()), tool_folder);
        })) {}
};

}  // namespace

void BindMindSpore(nb::module_& m) {
  nb::class_<MindSporeSession, DumpSession>(m, "MindSporeSession")
      .def(
          "__init__",
          [](MindSporeSession* self, std::optional<std::string> config_path, std::optional<std::string> task,
             std::optional<std::string> dump_path, std::optional<std::string> level,
             std::optional<std::vector<std::string>> steps, std::string packaged_config, nb::object helpers,
             std::string tool_folder) {
            new (self) MindSporeSession(RequestOf(std::move(config_path), std::move(task), std::move(dump_path),
                                                  std::move(level), std::move(steps), std::move(packaged_config)),
                                        helpers, tool_folder);
          },
          nb::arg("config_path").none(), nb::arg("task").none(), nb::arg("dump_path").none(), nb::arg("level").none(),
          nb::arg("steps").none(), nb::arg("packaged_config"), nb::arg("helpers"), nb::arg("tool_folder"));
}

}  // namespace msprobe
