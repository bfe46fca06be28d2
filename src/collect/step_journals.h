#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/dump_head.h"
#include "config/dump_settings.h"
#include "record/json_journal.h"

namespace msprobe {

/// One member of construct.json: a name and its value as JSON text.
struct TreeEntry {
  std::string name;
  std::string value;
};

/// The JSON files of one step of one process: dump.json, stack.json and construct.json, and debug.json from the first
/// saved value on. Level debug has debug.json alone. Not thread-safe.
class StepJournals {
 public:
  /// Creates the skeletons in `folder`.
  static Result<StepJournals> Create(const std::string& folder, DumpHead head, Level level);

  /// JSON texts; `stack` is empty for none.
  void AddRecord(std::string_view name, std::string_view text, std::string_view stack,
                 const std::vector<TreeEntry>& tree);
  void AddTreeEntry(const TreeEntry& entry);
  /// A value of debug.json. Fails if that file cannot be made; the value is lost then.
  Status AddSaved(std::string_view name, std::string_view text);

  std::size_t buffered_bytes() const;
  Status Flush();
  /// Closes the files, and with them the locks, without flushing; nothing may follow.
  void Close();

  /// The folder has been renamed: later files are made in the new one, and the heads name it.
  Status Moved(const std::string& folder, const std::string& tensor_folder);

  /// Name of the file that must be there: "dump.json" or "debug.json".
  const char* main_file() const { return dump_ ? "dump.json" : "debug.json"; }

 private:
  StepJournals() = default;
  Status CreateDebug();
  std::vector<JsonJournal*> Open();

  std::string folder_;
  DumpHead head_;
  std::optional<JsonJournal> dump_;
  std::optional<JsonJournal> stack_;
  std::optional<JsonJournal> construct_;
  std::optional<JsonJournal> debug_;
};

}  // namespace msprobe
