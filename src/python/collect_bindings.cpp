#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings.h"
#include "python/dump_session.h"
#include "python/gradient_hooks.h"
#include "python/node_hook.h"
#include "python/recorded_function.h"

namespace nb = nanobind;

namespace msprobe {

void BindCollect(nb::module_& m) {
  Translated([] {
    InitialiseNodeHooks();
    InitialiseOutputHooks();
    InitialiseModuleHooks();
    InitialiseParameterHooks();
    InitialiseSavedGradients();
    InitialiseRecordedFunctions();
    InitialiseWorkWatch();
    return 0;
  });
  nb::class_<DumpSession> session(m, "DumpSession");
  session.def_prop_ro("task", [](DumpSession& s) { return s.settings().task_name; })
      .def_prop_ro("level", [](DumpSession& s) { return s.settings().level_name; })
      .def_prop_rw(
          "dump_path", [](DumpSession& s) { return s.settings().dump_path; },
          [](DumpSession& s, std::string path) { s.collector().mutable_settings().dump_path = std::move(path); })
      .def_prop_ro("ranks", [](DumpSession& s) { return s.settings().ranks; })
      .def_prop_ro("steps", [](DumpSession& s) { return s.settings().steps; })
      .def_prop_ro("warnings", [](DumpSession& s) { return s.settings().warnings; })
      .def_prop_ro("support_lists", [](DumpSession& s) { return s.settings().support_lists; })
      .def_prop_ro("finished", [](DumpSession& s) { return s.collector().finished(); })
      .def("filter_report",
           [](DumpSession& s) {
             FilterReport report = s.collector().filter_report();
             return std::pair(std::move(report.warnings), std::move(report.infos));
           })
      .def_prop_ro("step", [](DumpSession& s) { return s.collector().step(); })
      .def_prop_ro("collecting", [](DumpSession& s) { return s.collector().collecting(); })
      .def_prop_ro("takes_calls", [](DumpSession& s) { return s.recording().TakesCalls(); })
      .def_prop_ro("folder", &DumpSession::Folder)
      .def("step_selected", [](DumpSession& s) { return s.collector().StepSelected(); })
      .def("steps_exhausted", [](DumpSession& s) { return s.collector().StepsExhausted(); })
      .def(
          "rank_selected",
          [](DumpSession& s, std::optional<std::int64_t> rank) { return s.collector().RankSelected(rank); },
          nb::arg("rank").none())
      .def("register_api", [](DumpSession& s, std::string name) { return s.collector().Register(std::move(name)); })
      .def("module_hooks", &DumpSession::ModuleHooks)
      .def("parameter_hook", &DumpSession::ParameterHook)
      .def("set_micro_step", [](DumpSession& s, std::int64_t n) { s.collector().SetMicroStep(n); })
      .def_prop_ro(
          "wants_parameter_gradients",
          [](DumpSession& s) { return s.collector().data_mode().backward && s.collector().data_mode().output; })
      .def_prop_ro("has_modules", [](DumpSession& s) { return s.collector().has_modules(); })
      .def_prop_ro("unreached_inputs", [](DumpSession& s) { return s.recording().unreached_inputs; })
      .def("set_error_callback", &DumpSession::SetErrorCallback)
      .def("start", &DumpSession::Start, nb::arg("rank").none(), nb::arg("metadata"))
      .def("pause", &DumpSession::Pause)
      .def("resume", &DumpSession::Resume)
      .def("leave_to_parent", &DumpSession::LeaveToParent)
      .def("flush", [](DumpSession& s) { RaiseIfFailed(s.collector().Flush()); })
      .def("begin_step", &DumpSession::BeginStep)
      .def("end_step", &DumpSession::EndStep);
  BindDebug(session);
}

}  // namespace msprobe
