#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "collect/kernel_dump_file.h"
#include "kernel_dump/kernel_watcher.h"
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
        })) {
    if (settings().level == Level::kL2) {
      RaiseIfFailed(CheckKernelNames(settings()));
    }
  }

  /// Writes the file that makes MindSpore dump its kernels; its path and the variables to set, "" for those to remove.
  std::pair<std::string, std::vector<std::pair<std::string, std::string>>> WriteKernelDumpFile(
      bool is_graph_engine, bool stores_statistics, bool prefixes_hash_names) {
    KernelDumpFile file =
        ValueOrRaise(MakeKernelDumpFile(settings(), {is_graph_engine, stores_statistics, prefixes_hash_names}));
    RaiseIfFailed(CreateDirectories(settings().dump_path));
    // What a killed run has left there would be taken for this one's.
    RaiseIfFailed(ValueOrRaise(SummariseLeftOver(settings().dump_path)).status);
    RaiseIfFailed(WriteFileAtomically(file.path, file.content));
    return {std::move(file.path), std::move(file.environment)};
  }

  /// From now on makes statistic.csv of the tensors that MindSpore stores, until StopKernelStatistics.
  void StartKernelStatistics() { watcher_ = ValueOrRaise(KernelWatcher::Start(settings().dump_path)); }
  /// (files summarised, files that could not be read, why the first of them could not).
  std::tuple<std::size_t, std::size_t, std::string> StopKernelStatistics() {
    if (!watcher_) {
      return {};
    }
    Status stopped;
    {
      const nb::gil_scoped_release released;
      stopped = watcher_->Stop();
    }
    const KernelDumpTotals totals = watcher_->totals();
    watcher_.reset();
    RaiseIfFailed(stopped);
    return {totals.files, totals.unreadable, totals.problem};
  }

 private:
  std::unique_ptr<KernelWatcher> watcher_;
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
          nb::arg("steps").none(), nb::arg("packaged_config"), nb::arg("helpers"), nb::arg("tool_folder"))
      .def_prop_ro("may_synchronize", [](MindSporeSession& s) { return s.settings().pynative_synchronize; })
      .def("write_kernel_dump_file", &MindSporeSession::WriteKernelDumpFile, nb::arg("is_graph_engine"),
           nb::arg("stores_statistics"), nb::arg("prefixes_hash_names"))
      .def("start_kernel_statistics", &MindSporeSession::StartKernelStatistics)
      .def("stop_kernel_statistics", &MindSporeSession::StopKernelStatistics);
}

}  // namespace msprobe
