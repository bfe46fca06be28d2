#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/api_recorder.h"
#include "python/backward_record.h"
#include "python/bindings.h"
#include "python/distributed_call.h"
#include "python/module_recorder.h"
#include "python/parameter_gradients.h"
#include "python/pending_output.h"
#include "python/recording.h"
#include "python/saved_value.h"
#include "python/work_watch.h"

namespace msprobe {

/// One debugger's collection, as Python sees it.
class DumpSession {
 public:
  DumpSession(DumpSettingsRequest request, const nanobind::object& torch_helpers, const std::string& tool_folder)
      : recording_(Translated([&] {
          return std::make_shared<Recording>(
              WithUsableFilters(ValueOrRaise(LoadDumpSettings(request, Framework::kPyTorch))), torch_helpers.ptr(),
              tool_folder);
        })) {
    recording_->collects_stacks = settings().extra_info;
    recording_->api_table = Object::Steal(PyDict_New());
  }

  Recording& recording() { return *recording_; }
  Collector& collector() { return recording_->collector; }
  const std::shared_ptr<Recording>& shared_recording() const { return recording_; }
  const DumpSettings& settings() const { return recording_->collector.settings(); }

  void SetApiTable(nanobind::dict table) { recording_->api_table = Object::Borrow(table.ptr()); }
  void SetErrorCallback(nanobind::object callback) { recording_->on_error = Object::Borrow(callback.ptr()); }
  void SetModeSwitch(nanobind::object enter, nanobind::object leave) {
    recording_->enter_mode = Object::Borrow(enter.ptr());
    recording_->leave_mode = Object::Borrow(leave.ptr());
  }
  /// Registers a module of the model and returns its index and its two hooks. `path`: dotted names inside the model.
  nanobind::tuple ModuleHooks(const std::string& path, const std::string& class_name,
                              std::vector<std::string> parameters) {
    const std::string name = "Module." + path + "." + class_name;
    const std::size_t module = collector().Register(name);
    recording_->modules.Register(module, path);
    recording_->parameter_gradients.Register(module, name, std::move(parameters));
    return Translated([&] {
      return nanobind::make_tuple(module, ToPython(MakeModuleHook(recording_, module, true)),
                                  ToPython(MakeModuleHook(recording_, module, false)));
    });
  }
  nanobind::object ParameterHook(const nanobind::object& parameter,
                                 std::vector<std::pair<std::size_t, std::size_t>> owners) {
    return Translated([&] { return ToPython(MakeParameterHook(recording_, parameter.ptr(), std::move(owners))); });
  }
  nanobind::object Recorder() {
    return Translated([&] { return ToPython(MakeApiRecorder(recording_)); });
  }

  /// Returns a line to warn with, or "".
  std::string Start(std::optional<std::int64_t> rank, const nanobind::dict& metadata) {
    ElementObject extra;
    for (const auto& [key, value] : metadata) {
      extra.push_back(Member{nanobind::cast<std::string>(key), Element(nanobind::cast<std::string>(value))});
    }
    const bool first = collector().writer() == nullptr;
    RaiseIfFailed(collector().Start(rank, std::move(extra)));
    return first && collector().writer() != nullptr ? collector().writer()->directory().warning() : std::string();
  }
  void Pause() {
    FinishOpenModules(*recording_);
    collector().Pause();
  }
  void Resume() { collector().Resume(); }
  void EndStep() { BeginStep(collector().step() + 1); }
  void BeginStep(std::int64_t step) {
    Pause();
    PendingOutput::GiveUpAll(*recording_);
    ForgetWork();
    FinishOpenBackwards(*recording_);
    FinishSavedGradients(*recording_);
    recording_->parameter_gradients.FinishStep(*recording_);
    recording_->modules.Reset();
    RaiseIfFailed(collector().BeginStep(step));
  }
  void LeaveToParent() {
    PendingOutput::ForgetAll(*recording_);
    ForgetSavedGradients(*recording_);
    ForgetWork();
    collector().LeaveToParent();
  }
  /// A callable for a function of torch.distributed; `parameters`: the names of its parameters.
  nanobind::object MakeDistributedCall(std::size_t index, std::string name, std::vector<std::string> parameters,
                                       const nanobind::object& original) {
    DistributedApi api{index, std::move(name), std::move(parameters), {}};
    if (const IgnoreRule* rule = recording_->ignore_rules.Find("Distributed." + api.name)) {
      api.ignored = *rule;
    }
    return Translated(
        [&] { return ToPython(msprobe::MakeDistributedCall(recording_, std::move(api), original.ptr())); });
  }
  std::string Folder() {
    return collector().writer() == nullptr ? std::string() : collector().writer()->directory().path();
  }

 private:
  static DumpSettings WithUsableFilters(DumpSettings settings) {
    RaiseIfFailed(RecordFilter::Check(settings));
    return settings;
  }

  std::shared_ptr<Recording> recording_;
};

/// save(), ranks that become known late, and what the summary of a step tells.
void BindDebug(nanobind::class_<DumpSession>& session);

}  // namespace msprobe
