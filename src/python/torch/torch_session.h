#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/dump_session.h"
#include "python/torch/api_recorder.h"
#include "python/torch/distributed_call.h"
#include "python/torch/torch_recording.h"

namespace msprobe {

/// The collection of a debugger for PyTorch.
class TorchSession : public DumpSession {
 public:
  TorchSession(const DumpSettingsRequest& request, const nanobind::object& helpers, const std::string& tool_folder)
      : TorchSession(Translated([&] {
          return std::make_shared<TorchRecording>(
              WithUsableFilters(ValueOrRaise(LoadDumpSettings(request, Framework::kPyTorch))), helpers.ptr(),
              tool_folder);
        })) {}

  TorchRecording& torch_recording() { return *torch_recording_; }

  void SetApiTable(nanobind::dict table) { torch_recording_->api_table = Object::Borrow(table.ptr()); }
  void SetModeSwitch(nanobind::object enter, nanobind::object leave) {
    torch_recording_->enter_mode = Object::Borrow(enter.ptr());
    torch_recording_->leave_mode = Object::Borrow(leave.ptr());
  }
  nanobind::object Recorder() {
    return Translated([&] { return ToPython(MakeApiRecorder(torch_recording_)); });
  }
  /// A callable for a function of torch.distributed; `parameters`: the names of its parameters.
  nanobind::object MakeDistributedCall(std::size_t index, std::string name, std::vector<std::string> parameters,
                                       const nanobind::object& original) {
    DistributedApi api{index, std::move(name), std::move(parameters), {}};
    if (const IgnoreRule* rule = torch_recording_->ignore_rules.Find("Distributed." + api.name)) {
      api.ignored = *rule;
    }
    return Translated(
        [&] { return ToPython(msprobe::MakeDistributedCall(torch_recording_, std::move(api), original.ptr())); });
  }

 private:
  explicit TorchSession(std::shared_ptr<TorchRecording> recording)
      : DumpSession(recording), torch_recording_(std::move(recording)) {
    torch_recording_->api_table = Object::Steal(PyDict_New());
  }

  std::shared_ptr<TorchRecording> torch_recording_;
};

}  // namespace msprobe
