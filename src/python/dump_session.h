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

#include "python/backward_record.h"
#include "python/bindings.h"
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
  explicit DumpSession(std::shared_ptr<Recording> recording) : recording_(std::move(recording)) {
    recording_->collects_stacks = settings().extra_info;
  }
  virtual ~DumpSession() = default;
  DumpSession(const DumpSession&) = delete;
  DumpSession& operator=(const DumpSession&) = delete;

  Recording& recording() { return *recording_; }
  Collector& collector() { return recording_->collector; }
  const std::shared_ptr<Recording>& shared_recording() const { return recording_; }
  const DumpSettings& settings() const { return recording_->collector.settings(); }

  void SetErrorCallback(nanobind::object callback) { recording_->on_error = Object::Borrow(callback.ptr()); }
  /// Registers a module of the model and returns its index and its two hooks. `path`: dotted names inside the model.
  nanobind::tuple ModuleHooks(const std::string& path, const std::string& class_name,
                              std::vector<std::string> parameters) {
    const std::string name = collector().ModuleName(path, class_name);
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
  /// Returns a line to warn with, or "".
  std::string Start(std::optional<std::int64_t> rank, const nanobind::dict& metadata) {
    ElementObject extra;
    for (const auto& [key, value] : metadata) {
      extra.push_back(Member{nanobind::cast<std::string>(key), Element(nanobind::cast<std::string>(value))});
    }
    recording_->TakeThisThread();
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
  std::string Folder() {
    return collector().writer() == nullptr ? std::string() : collector().writer()->directory().path();
  }

 protected:
  /// Throws where a filter cannot be used.
  static DumpSettings WithUsableFilters(DumpSettings settings) {
    RaiseIfFailed(RecordFilter::Check(settings));
    return settings;
  }

 private:
  std::shared_ptr<Recording> recording_;
};

/// The values of a constructor's arguments that are in the configuration file otherwise.
inline DumpSettingsRequest RequestOf(std::optional<std::string> config_path, std::optional<std::string> task,
                                     std::optional<std::string> dump_path, std::optional<std::string> level,
                                     std::optional<std::vector<std::string>> steps, std::string packaged_config) {
  return {std::move(config_path), std::move(task),  std::move(dump_path),
          std::move(level),       std::move(steps), std::move(packaged_config)};
}

/// save(), ranks that become known late, and what the summary of a step tells.
void BindDebug(nanobind::class_<DumpSession>& session);

}  // namespace msprobe
