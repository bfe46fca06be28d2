#include "config/known_keys.h"

#include <algorithm>

#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::size_t kMostListed = 10;

const std::vector<std::string>& TopLevelKeys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = {"task",
                                    "dump_path",
                                    "rank",
                                    "step",
                                    "level",
                                    "acl_config",
                                    "seed",
                                    "is_deterministic",
                                    "enable_dataloader",
                                    "async_dump",
                                    "precision",
                                    "extra_info",
                                    "pynative_synchronize",
                                    "risk_level",
                                    "dump_enable",
                                    "custom_op_namespaces",
                                    "support_list"};
    all.insert(all.end(), kKnownTasks.begin(), kKnownTasks.end());
    return all;
  }();
  return keys;
}

std::vector<std::string> SectionKeys(std::string_view task) {
  if (task == "statistics") {
    return {"scope", "list", "data_mode", "summary_mode", "tensor_list", "device", "precision", "slice", "request_id"};
  }
  if (task == "tensor") {
    return {"scope", "list", "data_mode", "file_format", "backward_input", "summary_mode", "online_run_ut", "nfs_path",
            "host",  "port", "tls_path",  "bench_path",  "diff_nums",      "slice",        "request_id"};
  }
  if (task == "overflow_check") return {"overflow_nums", "check_mode", "scope", "list", "data_mode"};
  if (task == "run_ut" || task == "acc_check") {
    return {"white_list", "black_list", "error_data_path", "is_online", "nfs_path",
            "host",       "port",       "rank_list",       "tls_path"};
  }
  if (task == "free_benchmark") {
    return {"scope",      "list",       "fuzz_device", "pert_mode",    "handler_type",
            "fuzz_level", "fuzz_stage", "if_preheat",  "preheat_step", "max_sample"};
  }
  if (task == "grad_probe") return {"grad_level", "param_list", "bounds"};
  if (task == "nan_check") return {"scope", "list", "tensor_list", "data_mode"};
  return {"scope", "list", "data_mode", "summary_mode"};  // tasks without documented keys
}

void Collect(const JsonSection& section, const std::vector<std::string>& known, std::vector<std::string>& unknown) {
  for (const std::string& key : section.Keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string text = section.Place(Excerpt(key, 60));
    const std::string nearest = Nearest(key, known);
    if (!nearest.empty()) text += fmt::format(" (did you mean \"{}\"?)", nearest);
    unknown.push_back(std::move(text));
  }
}

}  // namespace

std::string UnknownKeysWarning(const JsonSection& root) {
  std::vector<std::string> unknown;
  Collect(root, TopLevelKeys(), unknown);
  for (const std::string_view task : kKnownTasks) {
    const Result<JsonSection> section = root.Section(task);
    if (section.ok()) Collect(*section, SectionKeys(task), unknown);
  }
  if (unknown.empty()) return {};
  const std::size_t count = unknown.size();
  if (count > kMostListed) {
    unknown.resize(kMostListed);
    unknown.push_back(fmt::format("and {} more", count - kMostListed));
  }
  return fmt::format("{}: unknown keys are ignored: {}", Printable(root.source()), Join(unknown, ", "));
}

}  // namespace msprobe
