#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "compare/compare.h"

namespace msprobe {
namespace {

constexpr std::string_view kPrefix = "accuracy_checking_details_";
constexpr std::string_view kSuffix = ".csv";
constexpr std::string_view kDeviceSuffix = ".device";
constexpr std::size_t kMostListed = 10;

enum class Role { kUnknown, kCpu, kDevice, kBenchmark };

struct Candidate {
  std::string path;
  Role role;
};

bool IsDetailsName(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  const std::string stamp = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  return stamp.size() == 14 && stamp.find_first_not_of("0123456789") == std::string::npos;
}

// The GPU is the benchmark; every other accelerator is the device under test. A CPU is neither.
Role ReadRole(const std::string& csv) {
  const std::string path = csv.substr(0, csv.size() - kSuffix.size()) + std::string(kDeviceSuffix);
  const Result<std::string> text = ReadFile(path, 256);
  if (!text.ok()) return Role::kUnknown;
  const std::string device = ToLowerAscii(Trim(*text));
  if (device == "cuda" || device == "gpu") return Role::kBenchmark;
  if (device == "cpu") return Role::kCpu;
  return device.empty() ? Role::kUnknown : Role::kDevice;
}

const char* RoleText(Role role) {
  switch (role) {
    case Role::kDevice:
      return "device";
    case Role::kBenchmark:
      return "GPU";
    case Role::kCpu:
      return "CPU";
    case Role::kUnknown:
      break;
  }
  return "origin not recorded";
}

std::vector<Candidate> FindCandidates(const std::string& folder) {
  std::vector<Candidate> candidates;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!IsDetailsName(name)) continue;
    const std::string path = JoinPath(folder, name);
    candidates.push_back({path, ReadRole(path)});
  }
  std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return candidates;
}

Error Ambiguous(const std::string& missing, const std::string& folder, const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) {
    if (names.size() == kMostListed) {
      names.emplace_back("...");
      break;
    }
    names.push_back(fmt::format("{} ({})", Printable(BaseName(candidate.path)), RoleText(candidate.role)));
  }
  return {ErrorCode::kUsage,
          fmt::format("{} not given and not clear from the folder {}, which holds {}; give -npu and -gpu", missing,
                      Printable(folder), names.empty() ? "no accuracy_checking_details file" : Join(names, ", "))};
}

std::optional<std::string> OnlyOne(const std::vector<Candidate>& candidates, Role role) {
  std::optional<std::string> found;
  for (const Candidate& candidate : candidates) {
    if (candidate.role != role) continue;
    if (found) return std::nullopt;
    found = candidate.path;
  }
  return found;
}

}  // namespace

Result<DetailsPair> FindDetailsFiles(const std::string& npu_csv, const std::string& gpu_csv,
                                     const std::string& folder) {
  if (!npu_csv.empty() && !gpu_csv.empty()) return DetailsPair{npu_csv, gpu_csv};
  const std::string place = folder.empty() ? "." : folder;
  const std::vector<Candidate> candidates = FindCandidates(place);
  const std::optional<std::string> device = OnlyOne(candidates, Role::kDevice);
  const std::optional<std::string> benchmark = OnlyOne(candidates, Role::kBenchmark);
  if (npu_csv.empty() && gpu_csv.empty()) {
    if (candidates.size() != 2 || !device || !benchmark) return Ambiguous("-npu and -gpu are", place, candidates);
    return DetailsPair{*device, *benchmark};
  }
  // The roles differ, so the file that was found is never the given one unless that has the wrong role.
  if (npu_csv.empty()) {
    std::error_code ignored;
    if (!device || std::filesystem::equivalent(*device, gpu_csv, ignored))
      return Ambiguous("-npu is", place, candidates);
    return DetailsPair{*device, gpu_csv};
  }
  std::error_code ignored;
  if (!benchmark || std::filesystem::equivalent(*benchmark, npu_csv, ignored))
    return Ambiguous("-gpu is", place, candidates);
  return DetailsPair{npu_csv, *benchmark};
}

}  // namespace msprobe
