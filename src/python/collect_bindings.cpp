#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "config/support_list.h"
#include "python/api_recorder.h"
#include "python/bindings.h"
#include "python/distributed_call.h"
#include "python/compiled_regions.h"
#include "python/backward_record.h"
#include "python/module_recorder.h"
#include "python/node_hook.h"
#include "python/parameter_gradients.h"
#include "python/operator_note.h"
#include "python/pending_output.h"
#include "python/recording.h"
#include "python/work_watch.h"

namespace nb = nanobind;

namespace msprobe {
namespace {

nb::object ToPython(Object object) { return nb::borrow(object.get()); }

/// Runs `make`, turning a pending C-API exception into one that nanobind lets through.
template <typename Make>
auto Translated(const Make& make) {
  try {
    return make();
  } catch (const PythonError&) {
    throw nb::python_error();
  }
}

/// One debugger's collection, as Python sees it.
class DumpSession {
 public:
  DumpSession(DumpSettingsRequest request, const nb::object& torch_helpers, const std::string& tool_folder)
      : recording_(Translated([&] {
          return std::make_shared<Recording>(ValueOrRaise(LoadDumpSettings(request, Framework::kPyTorch)),
                                             torch_helpers.ptr(), tool_folder);
        })) {
    recording_->collects_stacks = settings().extra_info;
    recording_->api_table = Object::Steal(PyDict_New());
  }

  Recording& recording() { return *recording_; }
  Collector& collector() { return recording_->collector; }
  const DumpSettings& settings() const { return recording_->collector.settings(); }

  void SetApiTable(nb::dict table) { recording_->api_table = Object::Borrow(table.ptr()); }
  void SetErrorCallback(nb::object callback) { recording_->on_error = Object::Borrow(callback.ptr()); }
  void SetModeSwitch(nb::object enter, nb::object leave) {
    recording_->enter_mode = Object::Borrow(enter.ptr());
    recording_->leave_mode = Object::Borrow(leave.ptr());
  }
  /// Registers a module of the model and returns its index and its two hooks. `path`: dotted names inside the model.
  nb::tuple ModuleHooks(const std::string& path, const std::string& class_name, std::vector<std::string> parameters) {
    const std::string name = "Module." + path + "." + class_name;
    const std::size_t module = collector().Register(name);
    recording_->modules.Register(module, path);
    recording_->parameter_gradients.Register(module, name, std::move(parameters));
    return Translated([&] {
      return nb::make_tuple(module, ToPython(MakeModuleHook(recording_, module, true)),
                            ToPython(MakeModuleHook(recording_, module, false)));
    });
  }
  nb::object ParameterHook(const nb::object& parameter, std::vector<std::pair<std::size_t, std::size_t>> owners) {
    return Translated([&] { return ToPython(MakeParameterHook(recording_, parameter.ptr(), std::move(owners))); });
  }
  nb::object Recorder() {
    return Translated([&] { return ToPython(MakeApiRecorder(recording_)); });
  }

  /// Returns a line to warn with, or "".
  std::string Start(std::optional<std::int64_t> rank, const nb::dict& metadata) {
    ElementObject extra;
    for (const auto& [key, value] : metadata) {
      extra.push_back(Member{nb::cast<std::string>(key), Element(nb::cast<std::string>(value))});
    }
    const bool first = collector().writer() == nullptr;
    RaiseIfFailed(collector().Start(rank, std::move(extra)));
    return first ? collector().writer()->directory().warning() : std::string();
  }
  void Pause() {
    FinishOpenModules(*recording_);
    collector().Pause();
  }
  void EndStep() {
    Pause();
    PendingOutput::GiveUpAll(*recording_);
    ForgetWork();
    FinishOpenBackwards(*recording_);
    recording_->parameter_gradients.FinishStep(*recording_);
    recording_->modules.Reset();
    RaiseIfFailed(collector().EndStep());
  }
  void LeaveToParent() {
    PendingOutput::ForgetAll(*recording_);
    ForgetWork();
    collector().LeaveToParent();
  }
  /// A callable for a function of torch.distributed; `parameters`: the names of its parameters.
  nb::object MakeDistributedCall(std::size_t index, std::string name, std::vector<std::string> parameters,
                                 const nb::object& original) {
    DistributedApi api{index, std::move(name), std::move(parameters), {}};
    if (const IgnoreRule* rule = recording_->ignore_rules.Find("Distributed." + api.name)) {
      api.ignored = *rule;
    }
    return Translated([&] { return ToPython(msprobe::MakeDistributedCall(recording_, std::move(api), original.ptr())); });
  }
  std::string Folder() {
    return collector().writer() == nullptr ? std::string() : collector().writer()->directory().path();
  }
  std::uint64_t RecordCount() { return collector().writer() == nullptr ? 0 : collector().writer()->record_count(); }

 private:
  std::shared_ptr<Recording> recording_;
};

}  // namespace

void BindCollect(nb::module_& m) {
  Translated([] {
    InitialiseApiRecorder();
    InitialiseDistributedCalls();
    InitialiseWorkWatch();
    InitialiseNodeHooks();
    InitialiseModuleHooks();
    InitialiseParameterHooks();
    InitialiseOperatorNotes();
    InitialiseCompiledRegions();
    return 0;
  });
  nb::class_<DumpSession>(m, "DumpSession")
      .def(
          "__init__",
          [](DumpSession* self, std::optional<std::string> config_path, std::optional<std::string> task,
             std::optional<std::string> dump_path, std::optional<std::string> level,
             std::optional<std::vector<std::string>> steps, std::string packaged_config, nb::object torch_helpers,
             std::string tool_folder) {
            new (self) DumpSession(DumpSettingsRequest{std::move(config_path), std::move(task), std::move(dump_path),
                                                       std::move(level), std::move(steps), std::move(packaged_config)},
                                   torch_helpers, tool_folder);
          },
          nb::arg("config_path").none(), nb::arg("task").none(), nb::arg("dump_path").none(), nb::arg("level").none(),
          nb::arg("steps").none(), nb::arg("packaged_config"), nb::arg("torch_helpers"), nb::arg("tool_folder"))
      .def_prop_ro("task", [](DumpSession& s) { return s.settings().task_name; })
      .def_prop_ro("level", [](DumpSession& s) { return s.settings().level_name; })
      .def_prop_rw(
          "dump_path", [](DumpSession& s) { return s.settings().dump_path; },
          [](DumpSession& s, std::string path) { s.collector().mutable_settings().dump_path = std::move(path); })
      .def_prop_ro("ranks", [](DumpSession& s) { return s.settings().ranks; })
      .def_prop_ro("steps", [](DumpSession& s) { return s.settings().steps; })
      .def_prop_ro("warnings", [](DumpSession& s) { return s.settings().warnings; })
      .def_prop_ro("step", [](DumpSession& s) { return s.collector().step(); })
      .def_prop_ro("collecting", [](DumpSession& s) { return s.collector().collecting(); })
      .def_prop_ro("folder", &DumpSession::Folder)
      .def_prop_ro("record_count", &DumpSession::RecordCount)
      .def("step_selected", [](DumpSession& s) { return s.collector().StepSelected(); })
      .def("steps_exhausted", [](DumpSession& s) { return s.collector().StepsExhausted(); })
      .def(
          "rank_selected",
          [](DumpSession& s, std::optional<std::int64_t> rank) { return s.collector().RankSelected(rank); },
          nb::arg("rank").none())
      .def("register_api", [](DumpSession& s, std::string name) { return s.collector().Register(std::move(name)); })
      .def("set_api_table", &DumpSession::SetApiTable)
      .def("set_mode_switch", &DumpSession::SetModeSwitch)
      .def("module_hooks", &DumpSession::ModuleHooks)
      .def("parameter_hook", &DumpSession::ParameterHook)
      .def("set_micro_step", [](DumpSession& s, std::int64_t n) { s.collector().SetMicroStep(n); })
      .def_prop_ro("wants_parameter_gradients",
                   [](DumpSession& s) { return s.collector().data_mode().backward && s.collector().data_mode().output; })
      .def_prop_ro("has_modules", [](DumpSession& s) { return s.collector().has_modules(); })
      .def_prop_ro("has_apis", [](DumpSession& s) { return s.collector().has_apis(); })
      .def_prop_ro("unreached_inputs", [](DumpSession& s) { return s.recording().unreached_inputs; })
      .def("set_error_callback", &DumpSession::SetErrorCallback)
      .def("recorder", &DumpSession::Recorder)
      .def("load_ignore_rules", [](DumpSession& s, const std::string& path) {
        s.recording().ignore_rules = ValueOrRaise(IgnoreRules::Load(path));
      })
      .def("make_distributed_call", &DumpSession::MakeDistributedCall)
      .def("start", &DumpSession::Start, nb::arg("rank").none(), nb::arg("metadata"))
      .def("pause", &DumpSession::Pause)
      .def("leave_to_parent", &DumpSession::LeaveToParent)
      .def("flush", [](DumpSession& s) { RaiseIfFailed(s.collector().Flush()); })
      .def("end_step", &DumpSession::EndStep);

  m.def("watched_work_count", &WatchedWorkCount);
  m.attr("ENGINE_FUNCTION") = kEngineFunction;
  m.def("make_operator_note", [](nb::object original, nb::object target, int index) {
    return Translated([&] { return ToPython(MakeOperatorNote(original.ptr(), target.ptr(), index)); });
  });
  m.def("pytorch_support_list", [](const std::string& path) {
    const SupportList list = ValueOrRaise(LoadPyTorchSupportList(path));
    nb::dict result;
    for (const auto& [category, names] : list.categories) {
      result[category.c_str()] = nb::cast(names);
    }
    return result;
  });
}

}  // namespace msprobe
