#include "collect/step_journals.h"

#include <utility>

#include "base/files.h"

namespace msprobe {
namespace {

constexpr const char* kDumpTail = "}\n}\n";
constexpr const char* kDumpIndent = "  ";

}  // namespace

Result<StepJournals> StepJournals::Create(const std::string& folder, DumpHead head, Level level) {
  StepJournals journals;
  journals.folder_ = folder;
  journals.head_ = std::move(head);
  if (level == Level::kDebug) {
    if (Status created = journals.CreateDebug(); !created.ok()) {
      return created.error();
    }
    return journals;
  }
  Result<JsonJournal> dump =
      JsonJournal::Create(JoinPath(folder, "dump.json"), journals.head_.text, kDumpTail, kDumpIndent);
  if (!dump) {
    return dump.error();
  }
  journals.dump_ = std::move(*dump);
  for (const auto& [name, journal] :
       {std::pair{"stack.json", &journals.stack_}, std::pair{"construct.json", &journals.construct_}}) {
    Result<JsonJournal> created = JsonJournal::Create(JoinPath(folder, name), "{", "}\n", " ");
    if (!created) {
      return created.error();
    }
    *journal = std::move(*created);
  }
  return journals;
}

Status StepJournals::CreateDebug() {
  Result<JsonJournal> created =
      JsonJournal::Create(JoinPath(folder_, "debug.json"), head_.text, kDumpTail, kDumpIndent);
  if (!created) {
    return created.error();
  }
  debug_ = std::move(*created);
  return {};
}

void StepJournals::AddRecord(std::string_view name, std::string_view text, std::string_view stack,
                             const std::vector<TreeEntry>& tree) {
  if (dump_) {
    dump_->Add(name, text);
  }
  if (stack_ && !stack.empty()) {
    stack_->Add(name, stack);
  }
  for (const TreeEntry& entry : tree) {
    AddTreeEntry(entry);
  }
}

void StepJournals::AddTreeEntry(const TreeEntry& entry) {
  if (construct_) {
    construct_->Add(entry.name, entry.value);
  }
}

Status StepJournals::AddSaved(std::string_view name, std::string_view text) {
  if (!debug_) {
    if (Status created = CreateDebug(); !created.ok()) {
      return created;
    }
  }
  debug_->Add(name, text);
  return {};
}

std::vector<JsonJournal*> StepJournals::Open() {
  std::vector<JsonJournal*> open;
  for (std::optional<JsonJournal>* journal : {&dump_, &stack_, &construct_, &debug_}) {
    if (*journal) {
      open.push_back(&**journal);
    }
  }
  return open;
}

std::size_t StepJournals::buffered_bytes() const {
  std::size_t bytes = 0;
  for (const std::optional<JsonJournal>* journal : {&dump_, &stack_, &construct_, &debug_}) {
    bytes += *journal ? (*journal)->buffered_bytes() : 0;
  }
  return bytes;
}

Status StepJournals::Flush() {
  for (JsonJournal* journal : Open()) {
    if (Status written = journal->Flush(); !written.ok()) {
      return written;
    }
  }
  return {};
}

void StepJournals::Close() {
  for (JsonJournal* journal : Open()) {
    journal->Close();
  }
}

Status StepJournals::Moved(const std::string& folder, const std::string& tensor_folder) {
  folder_ = folder;
  if (!head_.ReplaceFolder(tensor_folder)) {
    return {};  // readers look beside the file first
  }
  const std::string value = head_.FolderValue(tensor_folder);
  for (std::optional<JsonJournal>* journal : {&dump_, &debug_}) {
    if (*journal) {
      if (Status written = (*journal)->OverwriteHead(head_.folder_begin, value); !written.ok()) {
        return written;
      }
    }
  }
  return {};
}

}  // namespace msprobe
