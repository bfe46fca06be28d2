#include "kernel_dump/kernel_statistics.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_handle.h"
#include "base/files.h"
#include "base/folders.h"
#include "kernel_dump/kernel_file_name.h"
#include "kernel_dump/statistic_table.h"
#include "kernel_dump/tensor_statistics.h"

namespace msprobe {
namespace {

constexpr const char* kTableName = "statistic.csv";
constexpr std::string_view kRankPrefix = "rank_";

std::optional<std::uint64_t> FolderNumber(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

bool IsRankFolder(std::string_view name) {
  return name.starts_with(kRankPrefix) && FolderNumber(name.substr(kRankPrefix.size()));
}

struct TensorFile {
  std::string path;
  KernelFileName name;
};

std::vector<TensorFile> FindTensorFiles(const std::string& folder, const std::vector<std::string>& names) {
  std::vector<TensorFile> files;
  for (const std::string& name : names) {
    auto parsed = ParseKernelFileName(name);
    std::string path = JoinPath(folder, name);
    if (parsed && IsPlainFile(path)) files.push_back({std::move(path), std::move(*parsed)});
  }
  return files;
}

}  // namespace

KernelStatistics::KernelStatistics(std::string path, SummaryVisitor visit)
    : path_(std::move(path)), visit_(std::move(visit)) {}

Status KernelStatistics::Summarise(bool all) {
  all_ = all;
  failure_.reset();
  std::error_code error;
  const std::string real = std::filesystem::canonical(path_, error).string();
  if (error == std::errc::no_such_file_or_directory) return {};
  if (error) return SystemError(ErrorCode::kInput, "open the folder", path_, error.value());
  // The user's own path may be a link; below it none is followed.
  const std::string path = IsPlainFolder(path_) ? path_ : path_ + "/";
  if (IsRankFolder(BaseName(real))) {
    SummariseRank(path);
    return Outcome();
  }
  const auto names = ListFolder(path);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (IsRankFolder(name)) SummariseRank(JoinPath(path, name));
  }
  return Outcome();
}

void KernelStatistics::SummariseRank(const std::string& rank_path) {
  if (!IsPlainFolder(rank_path)) return;
  const auto nets = ListFolder(rank_path);
  if (!nets.ok()) return Fail(nets.error());
  for (const std::string& net : *nets) {
    const std::string net_path = JoinPath(rank_path, net);
    if (!IsPlainFolder(net_path)) continue;
    const auto graphs = ListFolder(net_path);
    if (!graphs.ok()) {
      Fail(graphs.error());
      continue;
    }
    for (const std::string& graph : *graphs) {
      if (FolderNumber(graph)) SummariseGraph(JoinPath(net_path, graph));
    }
  }
}

void KernelStatistics::SummariseGraph(const std::string& graph_path) {
  if (!IsPlainFolder(graph_path)) return;
  const auto names = ListFolder(graph_path);
  if (!names.ok()) return Fail(names.error());
  std::uint64_t& next = next_iterations_[graph_path];
  std::vector<std::pair<std::uint64_t, const std::string*>> iterations;
  for (const std::string& name : *names) {
    const auto number = FolderNumber(name);
    if (number && (all_ || *number >= next)) iterations.emplace_back(*number, &name);
  }
  std::sort(iterations.begin(), iterations.end());
  if (!all_ && !iterations.empty()) iterations.pop_back();
  bool complete = true;
  for (const auto& [number, name] : iterations) {
    complete = SummariseIteration(JoinPath(graph_path, *name)) && complete;
    if (complete) next = std::max(next, number + 1);
  }
}

/// Whether the folder need not be looked at again.
bool KernelStatistics::SummariseIteration(const std::string& path) {
  if (!IsPlainFolder(path)) return true;
  const auto fail = [this](const Error& error) {
    Fail(error);
    return false;
  };
  // Before it is read: what another process has just removed shall not be missed in its table.
  const FileHandle lock = OpenLockedFolder(path);
  if (!lock.is_open()) {
    if (errno == EWOULDBLOCK || errno == ENOENT) return false;
    return fail(SystemError(ErrorCode::kInput, "open the folder", path, errno));
  }
  const auto names = ListFolder(path);
  if (!names.ok()) return fail(names.error());
  std::vector<TensorFile> files = FindTensorFiles(path, *names);
  if (files.empty()) return true;
  SummarisedFolder summary;
  summary.csv_path = JoinPath(path, kTableName);
  auto table = StatisticTable::Read(summary.csv_path);
  if (!table.ok()) return fail(table.error());
  std::vector<const TensorFile*> readable;
  for (const TensorFile& file : files) {
    const auto statistics = ReadTensorStatistics(file.path, MemoryLimit());
    table->Add(file.name, statistics.ok() ? *statistics : KernelFileStatistics{});
    if (statistics.ok()) {
      readable.push_back(&file);
    } else if (summary.unreadable++ == 0) {
      summary.problem = statistics.error().message;
    }
  }
  if (table->changed()) {
    if (Status written = WriteFileAtomically(summary.csv_path, table->Text()); !written.ok()) {
      return fail(written.error());
    }
  }
  bool removed_all = true;
  for (const TensorFile* file : readable) {
    if (::unlink(file->path.c_str()) == 0) {
      ++summary.files;
    } else if (errno != ENOENT) {
      removed_all = fail(SystemError(ErrorCode::kOutput, "remove", file->path, errno));
    }
  }
  if (visit_ && (table->changed() || summary.files > 0)) visit_(summary);
  return removed_all;
}

void KernelStatistics::Fail(const Error& error) {
  if (!failure_) failure_ = error;
}

Status SummariseKernelDump(const std::string& path, bool all, const SummaryVisitor& visit) {
  return KernelStatistics(path, visit).Summarise(all);
}

}  // namespace msprobe
