#include "cli/checker_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "check/count_text.h"
#include "check/plan.h"
#include "check/result_writer.h"
#include "cli/command.h"
#include "cli/package_settings.h"
#include "cli/python_finder.h"
#include "cli/spawner_start.h"
#include "cli/stop_signals.h"
#include "cli/worker_pool.h"

namespace msprobe {
namespace {

constexpr std::size_t kWorkersPerDevice = 8;
constexpr const char* kErrorFolder = "ut_error_data";

/// One run, its stages in order; each keeps what later ones need.
class CheckerRun {
 public:
  CheckerRun(const CheckerOptions& options, Console& console) : options_(options), console_(console) {}
  CheckerRun(const CheckerRun&) = delete;
  CheckerRun& operator=(const CheckerRun&) = delete;
  ~CheckerRun() {
    if (options_.csv_path.empty() && !files_.journal.empty()) ReleaseResultFiles(files_);
  }

  Result<int> Run() {
    if (Status status = ReadDump(); !status) return status.error();
    if (Status status = ReadSettings(); !status) return status.error();
    if (Status status = Plan(); !status) return status.error();
    StopSignals signals;
    if (Status status = ChooseFiles(); !status) return status.error();
    std::optional<SpawnerProcess> spawner;
    if (HasWork()) {
      if (Status status = StartSpawner(signals, spawner); !status) return status.error();
      if (stop_signal_ != 0) return kExitSignal + stop_signal_;
    }
    if (Status status = OpenWriter(); !status) return status.error();
    if (!writer_->to_run().empty()) {
      if (Status status = CheckCases(signals, *spawner); !status) return status.error();
      if (stop_signal_ != 0) return Stopped();
    }
    return Finish();
  }

 private:
  Status ReadDump() {
    if (Status status = CheckInputFile(options_.api_info, ".json"); !status) return status;
    auto index = IndexDump(options_.api_info);
    if (!index) return index.error();
    index_ = std::move(*index);
    const std::string path = Printable(options_.api_info);
    const bool is_pytorch = index_.header.framework.empty() || index_.header.framework == "pytorch";
    if (!is_pytorch) {
      return Error{ErrorCode::kInput, path + " was collected with " + Excerpt(index_.header.framework) +
                                          "; the checker is for PyTorch only"};
    }
    if (index_.truncated) {
      if (index_.records.empty()) {
        return Error{ErrorCode::kInput,
                     path + " is truncated before its first complete record (" + index_.truncation + ")"};
      }
      console_.Warning(path + " is truncated (" + index_.truncation + "): the " +
                       CountText(index_.records.size(), "complete record") + " before that will be checked");
    } else if (!index_.has_data) {
      return Error{ErrorCode::kInput, path + " has no \"data\": it is not a dump.json of the collection tool"};
    }
    if (index_.records.empty()) console_.Warning("\"data\" of " + path + " is empty: there is nothing to check");
    return {};
  }

  Status ReadSettings() {
    std::string package_dir = options_.python.empty() ? PackageDirBesideExecutable() : "";
    // Without a package beside this executable the Python that will be started names its own.
    if (package_dir.empty()) {
      auto python = FindPython(options_.python);
      if (python) {
        package_dir = python->package_dir;
        python_ = std::move(*python);
      }
    }
    auto settings = LoadPackageSettings(package_dir, options_.config_path);
    if (!settings) return settings.error();
    settings_ = std::move(settings->checker);
    support_list_path_ = std::move(settings->support_list_path);
    support_overlays_ = std::move(settings->support_overlays);
    for (const std::string& warning : settings_.warnings) console_.Warning(warning);
    return {};
  }

  Status Plan() {
    auto reader = RecordTextReader::Open(options_.api_info);
    if (!reader) return reader.error();
    reader_.emplace(std::move(*reader));
    PlanRequest request;
    request.white_list = settings_.white_list;
    request.black_list = settings_.black_list;
    request.filter_repeated = options_.filter_api;
    request.only = options_.only;
    auto plan = MakePlan(index_, *reader_, request);
    if (!plan) return plan.error();
    plan_ = std::move(*plan);
    for (const std::string& warning : plan_.warnings) console_.Warning(warning);
    return {};
  }

  bool HasWork() const {
    return std::any_of(plan_.cases.begin(), plan_.cases.end(),
                       [](const CheckCase& item) { return item.skip_reason.empty(); });
  }

  /// Names all files of the run and makes their folders; no row is written before the device is known to work.
  Status ChooseFiles() {
    const std::string error_prefix =
        options_.save_error_data ? JoinPath(AbsolutePath(settings_.error_data_path), kErrorFolder) : "";
    if (options_.csv_path.empty()) {
      if (Status status = CreateDirectories(options_.out_path); !status) return status;
      auto files = TakeResultFiles(AbsolutePath(options_.out_path), TimeStamp(), error_prefix);
      if (!files) return files.error();
      files_ = std::move(*files);
    } else {
      auto files = ExistingResultFiles(options_.csv_path);
      if (!files) return files.error();
      files_ = std::move(*files);
    }
    if (!error_prefix.empty()) {
      if (Status status = CheckInputDirectory(settings_.error_data_path); !status) return status;
      error_dir_ = error_prefix + files_.stamp;
    }
    return {};
  }

  Status StartSpawner(StopSignals& signals, std::optional<SpawnerProcess>& spawner) {
    if (python_.python.empty()) {
      auto python = FindPython(options_.python);
      if (!python) return python.error();
      python_ = std::move(*python);
    }
    auto process = SpawnerProcess::Start(python_.python);
    if (!process) return process.error();
    spawner.emplace(std::move(*process));
    WorkerSettings settings;
    settings.device_type = options_.device_type;
    settings.device_ids = DeviceIds();
    settings.imports = options_.imports;
    settings.jit_compile = options_.jit_compile;
    settings.seed = options_.seed;
    settings.precision = settings_.precision;
    settings.dump_dir = ParentPath(AbsolutePath(options_.api_info));
    settings.dump_data_dir = index_.header.dump_data_dir;
    settings.error_data_dir = error_dir_;
    settings.support_list = support_list_path_;
    settings.support_overlays = support_overlays_;
    auto start = GreetSpawner(*spawner, signals, settings, options_.start_timeout);
    if (!start) return start.error();
    stop_signal_ = start->stop_signal;
    if (stop_signal_ != 0) return {};
    for (const std::string& line : start->error_output) console_.ErrorLine(Printable(line));
    hello_ = std::move(start->hello);
    for (const std::string& warning : hello_.warnings) console_.Warning(warning);
    for (const std::int64_t id : DeviceIds()) {
      if (id < hello_.device_count) continue;
      return Error{ErrorCode::kDevice,
                   "device " + std::to_string(id) + " does not exist: there " +
                       (hello_.device_count == 1 ? "is" : "are") + " " +
                       CountText(static_cast<std::size_t>(std::max<std::int64_t>(0, hello_.device_count)),
                                 hello_.device_type + " device") +
                       " here" + (hello_.device_count > 0 ? ", counted from 0" : "")};
    }
    return error_dir_.empty() ? Status() : CreateDirectories(error_dir_);
  }

  std::vector<std::int64_t> DeviceIds() const {
    // run_ut has one worker, so it uses the first device alone, as the reference does.
    return options_.workers == 1 ? std::vector<std::int64_t>{options_.device_ids[0]} : options_.device_ids;
  }

  /// What must be equal for a run to be continued: everything that changes rows. The number of workers does not.
  Result<JournalHeader> MakeJournalHeader() const {
    const auto sorted = [](std::vector<std::string> names) {
      std::sort(names.begin(), names.end());
      return Join(names, " ");
    };
    JournalHeader header;
    auto fingerprint = PlanFingerprint(plan_, options_.api_info);
    if (!fingerprint) return fingerprint.error();
    header.plan = std::move(*fingerprint);
    header.cases = plan_.cases.size();
    header.settings = {{"device type", HasWork() ? hello_.device_type : options_.device_type},
                       {"--seed", std::to_string(options_.seed)},
                       {"precision", std::to_string(settings_.precision)},
                       {"-j", options_.jit_compile ? "on" : "off"},
                       {"-f", options_.filter_api ? "on" : "off"},
                       {"--only", sorted(options_.only)},
                       {"--import", Join(options_.imports, " ")},
                       {"white_list", sorted(settings_.white_list)},
                       {"black_list", sorted(settings_.black_list)}};
    return header;
  }

  Status OpenWriter() {
    auto header = MakeJournalHeader();
    if (!header) return header.error();
    const std::string device = HasWork() ? hello_.device_type : options_.device_type;
    auto writer = options_.csv_path.empty() ? ResultWriter::Create(files_, plan_, *header, device)
                                            : ResultWriter::Resume(files_, plan_, *header, device);
    if (!writer) return writer.error();
    writer_.emplace(std::move(*writer));
    for (const std::string& warning : writer_->warnings()) console_.Warning(warning);
    return {};
  }

  std::size_t WorkerCount() {
    std::size_t workers = options_.workers;
    const std::size_t devices = DeviceIds().size();
    if (workers > kWorkersPerDevice * devices) {
      workers = kWorkersPerDevice * devices;
      console_.Warning("-n " + std::to_string(options_.workers) +
                       " is more than 8 for each device: " + std::to_string(workers) + " workers are used");
    }
    return std::min(workers, writer_->to_run().size());
  }

  Status CheckCases(StopSignals& signals, SpawnerProcess& spawner) {
    const std::vector<std::size_t>& to_run = writer_->to_run();
    const std::size_t total = plan_.cases.size();
    const std::size_t before = total - to_run.size();
    PoolOptions pool_options;
    pool_options.workers = WorkerCount();
    pool_options.device_ids = DeviceIds();
    pool_options.case_timeout = options_.timeout;
    pool_options.start_timeout = options_.start_timeout;
    pool_options.memory_limit = options_.memory_limit;
    console_.Info("checking " + CountText(to_run.size(), "API") + " on " + hello_.device_type +
                  (hello_.device_name.empty() ? "" : " (" + hello_.device_name + ")") + ", torch " +
                  hello_.framework_version + ", " + CountText(pool_options.workers, "worker"));
    if (options_.device_ids.size() > pool_options.device_ids.size()) {
      console_.Info("one worker uses one device: of -d only " + std::to_string(options_.device_ids[0]) +
                    " counts; multi_run_ut spreads its workers over all");
    }
    std::size_t given = 0;
    std::size_t finished = 0;
    PoolEvents events;
    events.next_case = [&]() -> Result<std::optional<PoolCase>> {
      if (given == to_run.size()) return std::optional<PoolCase>();
      return LoadCase(to_run[given++]);
    };
    events.finished = [&](std::size_t index, CaseRows rows) {
      ++finished;
      return writer_->Add(index, std::move(rows));
    };
    events.error_output = [&](const std::string& line) { console_.ErrorLine(Printable(line)); };
    events.tick = [&] { console_.UpdateProgress(before + finished); };
    console_.StartProgress(total, before);
    auto end = WorkerPool(spawner, signals, std::move(pool_options), std::move(events)).Run();
    console_.UpdateProgress(before + finished);
    console_.EndProgress();
    if (!end) {
      console_.Warning("the rows so far are kept; to continue: -csv_path " + files_.result);
      return end.error();
    }
    stop_signal_ = *end;
    return {};
  }

  Result<std::optional<PoolCase>> LoadCase(std::size_t index) const {
    const CheckCase& item = plan_.cases[index];
    auto forward = reader_->Read(item.forward);
    if (!forward) return forward.error();
    std::string backward;
    if (item.backward) {
      auto text = reader_->Read(*item.backward);
      if (!text) return text.error();
      backward = std::move(*text);
    }
    return std::optional<PoolCase>(PoolCase{index, item.full_name, item.backward.has_value(),
                                            CaseMessage(index, item.full_name, *forward, backward)});
  }

  Result<int> Stopped() {
    console_.Warning("stopped by " + SignalText(stop_signal_) + " after " +
                     CountText(writer_->counts().total(), "API") + "; to continue: -csv_path " + files_.result);
    return kExitSignal + stop_signal_;
  }

  Result<int> Finish() {
    if (Status status = writer_->Finish(); !status) return status.error();
    const RunCounts& counts = writer_->counts();
    console_.Info("result of each API: " + files_.result);
    console_.Info("details of each output: " + files_.details);
    if (!error_dir_.empty() && HasWork()) console_.Info("data of APIs that do not pass: " + error_dir_);
    console_.Info(CountText(counts.total(), "API") + ": " + std::to_string(counts.pass) + " pass, " +
                  std::to_string(counts.warning) + " warning, " + std::to_string(counts.error) + " error, " +
                  std::to_string(counts.skip) + " SKIP");
    if (counts.error > 0) {
      console_.Info("in error: " + Join(counts.error_names, ", ") +
                    (counts.error > counts.error_names.size()
                         ? " and " + std::to_string(counts.error - counts.error_names.size()) + " more"
                         : ""));
    }
    if (HasWork() && !hello_.is_accelerator) {
      console_.Info("the device under test is the CPU: this run shows nothing about an accelerator");
    }
    return FailsOn(options_.fail_on, counts.error, counts.warning, counts.skip) ? kExitFailOn : kExitFinished;
  }

  const CheckerOptions& options_;
  Console& console_;
  DumpIndex index_;
  CheckerSettings settings_;
  PythonInstallation python_;
  std::string support_list_path_;
  std::vector<std::string> support_overlays_;
  std::optional<RecordTextReader> reader_;
  CheckPlan plan_;
  ResultFiles files_;
  std::string error_dir_;
  SpawnerHello hello_;
  std::optional<ResultWriter> writer_;
  int stop_signal_ = 0;
};

}  // namespace

Result<int> RunChecker(const CheckerOptions& options, Console& console) { return CheckerRun(options, console).Run(); }

}  // namespace msprobe
