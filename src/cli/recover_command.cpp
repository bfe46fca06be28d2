#include "cli/recover_command.h"

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/folders.h"
#include "base/text.h"
#include "check/count_text.h"
#include "kernel_dump/kernel_watcher.h"
#include "record/recover.h"

namespace msprobe {
namespace {

constexpr const char* kDescription =
    "Makes a dump usable again whose training was killed. DIR is a dump path, one of its step folders or one rank "
    "folder.\n"
    "A dump.json, stack.json, construct.json or debug.json that was torn while it was written is cut behind its last "
    "complete record and closed, so that every tool can read it; the tensor files stay. In a kernel dump of MindSpore "
    "that was collected with task statistics on a CPU, the tensors not yet summarised become statistic.csv in their "
    "folder and are removed.\n"
    "Whole files are left as they are, and so is a folder whose process is still running; links are not followed. The "
    "command can be stopped and repeated at any time.\n"
    "Exit code: 0 finished, whether there was something to recover or not; 1 a DIR or a file in it cannot be used; 2 "
    "wrong usage.";

constexpr const char* kExamples =
    "  msprobe recover ./dump_path\n"
    "      everything below it, all steps and ranks\n"
    "  msprobe recover ./dump_path/step0/rank0 ./dump_path/step0/rank1\n"
    "      two processes of one step\n";

constexpr const char* kFileNames[] = {"dump.json", "stack.json", "construct.json", "debug.json"};

constexpr const char* kInUse = "the process that writes it is still running";

/// step{n}, rank{r} and what an earlier run left (rank{r}.{time}), rank{r}_p{pid}, and rank_{id} of a kernel dump.
bool IsDumpFolder(std::string_view name) { return name.starts_with("step") || name.starts_with("rank"); }

/// A dump path, a step and a rank, one below the other.
constexpr int kMostLevels = 3;

class Recovery {
 public:
  explicit Recovery(Console& console) : console_(console) {}

  void Folder(const std::string& path, int levels = kMostLevels) {
    KernelDump(path);
    bool has_files = false;
    for (const char* name : kFileNames) has_files = has_files || !IsAbsent(JoinPath(path, name));
    if (has_files) RankFolder(path);
    if (levels == 1) return;
    const auto names = ListFolder(path);
    if (!names.ok()) return Fail(names.error());
    for (const std::string& name : *names) {
      const std::string folder = JoinPath(path, name);
      if (IsDumpFolder(name) && IsPlainFolder(folder)) Folder(folder, levels - 1);
    }
  }

  Result<int> Finish() {
    std::string text = "recovered " + std::to_string(torn_) + " of " + CountText(files_, "file");
    if (kernel_folders_ > 0) {
      text += ", summarised " + CountText(kernel_files_, "tensor file") + " of a kernel dump in " +
              CountText(kernel_folders_, "folder");
    }
    if (torn_ == 0 && kernel_folders_ == 0 && failures_ == 0 && skipped_ == 0) {
      text = files_ == 0
                 ? "found nothing to recover: no file of a dump is there"
                 : "found nothing to recover: " + CountText(files_, "file") + (files_ == 1 ? " is" : " are") + " whole";
    }
    if (skipped_ > 0) text += ", skipped " + std::to_string(skipped_);
    if (failures_ > 0) text += ", " + CountText(failures_, "failure");
    console_.Info(text);
    return failures_ > 0 ? kExitUnusable : kExitFinished;
  }

 private:
  void RankFolder(const std::string& path) {
    // The process that writes a rank folder holds the lock; a new one that wants it waits for us in the same way.
    const FileHandle lock = OpenLockedFolder(path);
    if (!lock.is_open() && errno == EWOULDBLOCK) return Skip(path, kInUse);
    if (!lock.is_open()) return Fail(SystemError(ErrorCode::kInput, "open the folder", path, errno));
    for (const char* name : kFileNames) {
      const std::string file = JoinPath(path, name);
      if (IsAbsent(file)) continue;
      if (!IsPlainFile(file)) {
        Skip(file, "it is no regular file, and links are not followed");
        continue;
      }
      ++files_;
      const auto recovered = RecoverJsonFile(file);
      if (!recovered.ok()) {
        Fail(recovered.error());
      } else if (recovered->was_torn) {
        ++torn_;
        console_.Info(file + ": kept " + CountText(recovered->members, "complete record") + "; " +
                      recovered->break_text);
      }
    }
  }

  void KernelDump(const std::string& path) {
    const auto left_over = SummariseLeftOver(path, [this](const SummarisedFolder& folder) {
      ++kernel_folders_;
      kernel_files_ += folder.files;
      console_.Info(folder.csv_path + ": statistics of " + CountText(folder.files, "tensor file"));
      if (folder.unreadable > 0) {
        console_.Warning(folder.csv_path + ": " + CountText(folder.unreadable, "tensor file") +
                         " kept without statistics; the first: " + folder.problem);
      }
    });
    if (!left_over.ok()) return Fail(left_over.error());
    if (left_over->is_live) Skip(path, kInUse);
    if (!left_over->status.ok()) Fail(left_over->status.error());
  }

  void Skip(const std::string& path, const std::string& reason) {
    ++skipped_;
    console_.Warning("skipped " + path + ": " + reason);
  }

  void Fail(const Error& error) {
    ++failures_;
    console_.Error(error.message);
  }

  Console& console_;
  std::size_t files_ = 0;
  std::size_t torn_ = 0;
  std::size_t kernel_folders_ = 0;
  std::size_t kernel_files_ = 0;
  std::size_t skipped_ = 0;
  std::size_t failures_ = 0;
};

Result<int> RunRecover(const ParsedOptions& parsed, Console& console) {
  const std::vector<std::string> folders = parsed.Values("DIR");
  for (const std::string& folder : folders) {
    if (Status usable = CheckInputDirectory(folder); !usable.ok()) return usable.error();
  }
  Recovery recovery(console);
  for (const std::string& folder : folders) {
    recovery.Folder(IsPlainFolder(folder) ? folder : folder + "/");  // what the user names may be a link
  }
  return recovery.Finish();
}

}  // namespace

Command RecoverCommand() {
  Command command;
  command.name = "recover";
  command.summary = "make the dump of a training that was killed usable again";
  command.usage = "msprobe recover DIR [DIR ...]";
  command.description = kDescription;
  command.examples = kExamples;
  OptionSpec folders{{"DIR"}, Arity::kOneOrMore, "DIR", "dump path, step folder or rank folder"};
  folders.required = true;
  folders.repeatable = true;
  folders.positional = true;
  command.options = {std::move(folders)};
  command.any_framework = true;
  command.run = RunRecover;
  return command;
}

}  // namespace msprobe
