#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings.h"
#include "python/torch/compiled_regions.h"
#include "python/torch/engine_call.h"
#include "python/torch/operator_note.h"
#include "python/torch/torch_session.h"

namespace nb = nanobind;

namespace msprobe {

void BindTorch(nb::module_& m) {
  Translated([] {
    InitialiseApiRecorder();
    InitialiseDistributedCalls();
    InitialiseEngineCalls();
    InitialiseOperatorNotes();
    InitialiseCompiledRegions();
    return 0;
  });
  nb::class_<TorchSession, DumpSession>(m, "TorchSession")
      .def(
          "__init__",
          [](TorchSession* self, std::optional<std::string> config_path, std::optional<std::string> task,
             std::optional<std::string> dump_path, std::optional<std::string> level,
             std::optional<std::vector<std::string>> steps, std::string packaged_config, nb::object helpers,
             std::string tool_folder) {
            new (self) TorchSession(RequestOf(std::move(config_path), std::move(task), std::move(dump_path),
                                              std::move(level), std::move(steps), std::move(packaged_config)),
                                    helpers, tool_folder);
          },
          nb::arg("config_path").none(), nb::arg("task").none(), nb::arg("dump_path").none(), nb::arg("level").none(),
          nb::arg("steps").none(), nb::arg("packaged_config"), nb::arg("helpers"), nb::arg("tool_folder"))
      .def_prop_ro("custom_op_namespaces", [](TorchSession& s) { return s.settings().custom_op_namespaces; })
      .def("set_api_table", &TorchSession::SetApiTable)
      .def("set_mode_switch", &TorchSession::SetModeSwitch)
      .def("take_unlisted_functions",
           [](TorchSession& s) { return Translated([&] { return ToPython(s.torch_recording().unlisted.TakeNew()); }); })
      .def("recorder", &TorchSession::Recorder)
      .def("load_ignore_rules",
           [](TorchSession& s, const std::string& path) {
             s.torch_recording().ignore_rules = ValueOrRaise(IgnoreRules::Load(path));
           })
      .def("make_distributed_call", &TorchSession::MakeDistributedCall);

  m.def("make_region_watch", [](nb::object original, nb::object enter, nb::object leave) {
    return Translated([&] { return ToPython(MakeRegionWatch(original.ptr(), enter.ptr(), leave.ptr())); });
  });
  m.def("enter_running_region", [](nb::object watch, nb::object frame) {
    Translated([&] {
      EnterRunningRegion(watch.ptr(), frame.ptr());
      return 0;
    });
  });
  m.def("watched_work_count", &WatchedWorkCount);
  m.attr("ENGINE_FUNCTION") = kEngineFunction;
  m.def("make_engine_call",
        [](nb::object original) { return Translated([&] { return ToPython(MakeEngineCall(original.ptr())); }); });
  m.def("make_operator_note", [](nb::object original, nb::object target, int index) {
    return Translated([&] { return ToPython(MakeOperatorNote(original.ptr(), target.ptr(), index)); });
  });
}

}  // namespace msprobe
