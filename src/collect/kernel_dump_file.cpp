#include "collect/kernel_dump_file.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <re2/re2.h>

#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::string_view kRegexBegin = "name-regex(";
constexpr const char* kConfigVariable = "MINDSPORE_DUMP_CONFIG";
constexpr const char* kAclVariable = "MS_ACL_DUMP_CFG_PATH";

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void Text(Writer& writer, const char* key, std::string_view value) {
  writer.Key(key);
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void Number(Writer& writer, const char* key, int value) {
  writer.Key(key);
  writer.Int(value);
}

void Texts(Writer& writer, const char* key, const std::vector<std::string>& values) {
  writer.Key(key);
  writer.StartArray();
  for (const std::string& value : values) writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  writer.EndArray();
}

std::string Iterations(const std::vector<std::int64_t>& steps) {
  if (steps.empty()) return "all";
  std::string text;
  for (const std::int64_t step : steps) text.append(text.empty() ? "" : "|").append(std::to_string(step));
  return text;
}

int InputOutput(const DataMode& mode) { return mode.input == mode.output ? 0 : mode.input ? 1 : 2; }

void Devices(Writer& writer, const std::vector<std::int64_t>& ranks) {
  static const std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  writer.Key("support_device");
  writer.StartArray();
  for (const std::int64_t rank : ranks.empty() ? all : ranks) writer.Int64(rank);
  writer.EndArray();
}

void Common(Writer& writer, const DumpSettings& settings, std::string_view saved_data) {
  Number(writer, "dump_mode", settings.list.empty() ? 0 : 1);
  Text(writer, "path", settings.dump_path);
  Text(writer, "net_name", "Net");
  Text(writer, "iteration", Iterations(settings.kernels.steps));
  Text(writer, "saved_data", saved_data);
  Number(writer, "input_output", InputOutput(settings.data_mode));
  Texts(writer, "kernels", settings.list);
  Devices(writer, settings.kernels.ranks);
}

// Without repetitions, as the framework calls them.
std::vector<std::string> Categories(const std::vector<std::string>& names, bool prefixes_hash_names) {
  std::vector<std::string> categories;
  for (const std::string& name : names) {
    std::string category = name == "mean" ? "avg" : name;
    if (name == "md5" || name == "hash") category = prefixes_hash_names ? "hash:md5" : "md5";
    if (std::find(categories.begin(), categories.end(), category) == categories.end()) {
      categories.push_back(std::move(category));
    }
  }
  return categories;
}

void KernelByKernel(Writer& writer, const DumpSettings& settings, const KernelDumpTarget& target) {
  const KernelDumpKeys& keys = settings.kernels;
  writer.Key("common_dump_settings");
  writer.StartObject();
  const bool wants_statistics = settings.task == Task::kStatistics && target.stores_statistics;
  Common(writer, settings, wants_statistics ? "statistic" : "tensor");
  if (wants_statistics && keys.statistics) {
    Texts(writer, "statistic_category", Categories(*keys.statistics, target.prefixes_hash_names));
  }
  writer.EndObject();
  writer.Key("e2e_dump_settings");
  writer.StartObject();
  writer.Key("enable");
  writer.Bool(!keys.async_dump);
  writer.Key("trans_flag");
  writer.Bool(true);
  if (wants_statistics && !keys.device.empty()) {
    Text(writer, "stat_calc_mode", keys.device);
    if (!keys.precision.empty()) Text(writer, "device_stat_precision_mode", keys.precision);
  }
  writer.EndObject();
}

void GraphEngine(Writer& writer, const DumpSettings& settings, const KernelDumpTarget& target) {
  const bool is_tensor = settings.task == Task::kTensor || !target.stores_statistics;
  writer.Key("common_dump_settings");
  writer.StartObject();
  Common(writer, settings, is_tensor ? "tensor" : "statistic");
  Number(writer, "op_debug_mode", 0);
  Text(writer, "file_format", settings.task == Task::kTensor ? settings.file_format : "npy");
  writer.EndObject();
}

void Overflows(Writer& writer, const DumpSettings& settings) {
  const std::string& mode = settings.kernels.check_mode;
  writer.Key("common_dump_settings");
  writer.StartObject();
  Number(writer, "dump_mode", 0);
  Text(writer, "path", settings.dump_path);
  Text(writer, "net_name", "Net");
  Text(writer, "iteration", "all");
  Text(writer, "saved_data", "full");
  Number(writer, "input_output", 0);
  Texts(writer, "kernels", {});
  Devices(writer, settings.kernels.ranks);
  Number(writer, "op_debug_mode", mode == "aicore" ? 1 : mode == "atomic" ? 2 : 3);
  Text(writer, "file_format", "npy");
  writer.EndObject();
}

}  // namespace

Result<KernelDumpFile> MakeKernelDumpFile(const DumpSettings& settings, const KernelDumpTarget& target) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 4);
  KernelDumpFile file;
  const char* name = "kernel_kbyk_dump.json";
  writer.StartObject();
  if (settings.task == Task::kOverflowCheck) {
    if (!target.is_graph_engine) {
      return Error{
          ErrorCode::kUnsupported,
          "task \"overflow_check\" at level \"L2\" needs graph mode with jit_level O2; use level \"L1\" in PyNative "
          "mode"};
    }
    name = "kernel_graph_overflow_check.json";
    Overflows(writer, settings);
  } else if (target.is_graph_engine) {
    name = "kernel_graph_dump.json";
    GraphEngine(writer, settings, target);
  } else {
    KernelByKernel(writer, settings, target);
  }
  writer.EndObject();
  file.path = settings.dump_path + "/" + name;
  file.content.assign(buffer.GetString(), buffer.GetSize()).append(1, '\n');
  file.environment.emplace_back(kConfigVariable, file.path);
  const bool needs_acl = target.is_graph_engine && settings.task != Task::kOverflowCheck && settings.list.empty();
  file.environment.emplace_back(kAclVariable, needs_acl ? file.path : "");
  return file;
}

// MindSpore takes ECMAScript expressions; what RE2 does not know of them is left to MindSpore.
Status CheckKernelNames(const DumpSettings& settings) {
  for (const std::string& element : settings.list) {
    if (!element.starts_with(kRegexBegin)) continue;
    const std::string_view text(element);
    const bool closed = text.ends_with(')') && text.size() > kRegexBegin.size() + 1;
    re2::RE2::Options options;
    options.set_log_errors(false);
    const std::string_view expression =
        closed ? text.substr(kRegexBegin.size(), text.size() - kRegexBegin.size() - 1) : std::string_view();
    const re2::RE2 compiled(re2::StringPiece(expression.data(), expression.size()), options);
    const bool is_wrong = !compiled.ok() && compiled.error_code() != re2::RE2::ErrorBadPerlOp &&
                          compiled.error_code() != re2::RE2::ErrorBadEscape;
    if (!closed || is_wrong) {
      return Error{ErrorCode::kInput, fmt::format("\"list\" holds \"{}\", whose regular expression cannot be used{}",
                                                  Excerpt(element, 80), is_wrong ? ": " + compiled.error() : "")};
    }
  }
  return {};
}

}  // namespace msprobe
