#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/file_handle.h"
#include "base/result.h"
#include "check/case_rows.h"

namespace msprobe {

/// What a run was started with: its first line of the journal.
struct JournalHeader {
  std::string plan;  ///< PlanFingerprint
  std::uint64_t cases = 0;
  std::vector<std::pair<std::string, std::string>> settings;  ///< everything that changes rows, by name
  std::uint64_t kept_rows = 0;  ///< rows that the result CSV held when this journal was begun (a CSV of another tool)
};

/// One line that names the first difference between what a journal was begun with and what is asked for now; "" if
/// none.
std::string Difference(const JournalHeader& then, const JournalHeader& now);

struct JournalEntry {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// `<result csv>.journal` (decisions 31): append-only JSON lines, the header first, then each finished API at once, in
/// one write. After kill -9 at most the last line is torn. Locked while open, so that two runs cannot write the same
/// CSV.
class Journal {
 public:
  /// Makes a new file; an existing one is replaced only if its header is torn (a run killed at its very start).
  static Result<Journal> Create(const std::string& path, const JournalHeader& header);

  /// Opens an existing one and cuts off a torn tail; lines that are no rows are left out. `false` in `has_header` when
  /// not even the header is complete: Create then replaces it.
  struct Opened;
  static Result<Opened> Open(const std::string& path);

  Result<JournalEntry> Append(const CaseRows& rows);
  Result<CaseRows> Read(const JournalEntry& entry) const;
  Status Remove();

  Journal(Journal&&) noexcept = default;
  Journal& operator=(Journal&&) noexcept = default;
  ~Journal() = default;

 private:
  Journal(FileHandle file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  FileHandle file_;
  std::string path_;
  std::uint64_t end_ = 0;
};

struct Journal::Opened {
  Journal journal;
  bool has_header = false;
  JournalHeader header;
  std::vector<JournalEntry> entries;  ///< in the order in which they finished; of equal names the first
};

}  // namespace msprobe
