#include "check/result_resume.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "base/csv.h"
#include "base/files.h"
#include "base/new_file.h"
#include "check/count_text.h"

namespace msprobe {
namespace {

bool Exists(const std::string& path) {
  struct stat info = {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool IsHeader(const std::vector<std::string>& cells, std::span<const std::string> header) {
  return std::equal(cells.begin(), cells.end(), header.begin(), header.end());
}

/// The API that a row of the details CSV belongs to: its name without `.<direction>.output.<i>`; the direction in
/// `backward`.
std::string ApiOfRow(std::string_view row_name, bool* backward = nullptr) {
  const auto forward_at = row_name.rfind(".forward.");
  const auto backward_at = row_name.rfind(".backward.");
  const bool is_backward =
      backward_at != std::string_view::npos && (forward_at == std::string_view::npos || backward_at > forward_at);
  if (backward != nullptr) *backward = is_backward;
  return std::string(row_name.substr(0, is_backward ? backward_at : forward_at));
}

struct ResultRow {
  std::string forward;
  std::string backward;
};

/// What the two CSVs hold.
struct Contents {
  std::vector<std::string> names;  ///< of the result CSV, in order, first of each name
  std::unordered_map<std::string, ResultRow> rows;
  struct Directions {
    bool forward = false;
    bool backward = false;
  };
  std::unordered_map<std::string, Directions> details;  ///< APIs of the details CSV
  std::unordered_set<std::string> torn;                 ///< APIs with a torn row
  bool has_headers = true;
};

/// Whether the last byte is a line feed, so that a row can be appended.
bool EndsWithLineFeed(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return false;
  const bool ends = std::fseek(file, -1, SEEK_END) == 0 && std::fgetc(file) == '\n';
  std::fclose(file);
  return ends;
}

Error NotOurFile(const std::string& path) {
  return Error{ErrorCode::kInput,
               "cannot continue " + Printable(path) + ": its first row is not the heading of a checker's CSV"};
}

Result<Contents> ReadContents(const ResultFiles& files, std::uint64_t row_limit) {
  Contents contents;
  std::string torn;
  bool header_seen = false;
  bool header_ok = true;
  Status status = ReadCsv(
      files.result,
      [&](std::size_t, std::vector<std::string>&& cells) {
        if (!header_seen) {
          header_seen = true;
          header_ok = IsHeader(cells, ResultHeader());
          return header_ok;
        }
        if (contents.names.size() >= row_limit) return false;
        if (cells.size() < 3) {
          contents.torn.insert(cells.empty() ? "" : cells[0]);
        } else if (contents.rows.emplace(cells[0], ResultRow{cells[1], cells[2]}).second) {
          contents.names.push_back(std::move(cells[0]));
        }
        return true;
      },
      &torn);
  if (!status) return status.error();
  if (!header_ok || (!header_seen && torn.size() > 200)) return NotOurFile(files.result);
  contents.has_headers = header_seen;
  if (!torn.empty()) contents.torn.insert(torn.substr(0, torn.find(',')));

  if (!Exists(files.details)) {
    if (contents.names.empty()) {
      contents.has_headers = false;
      return contents;
    }
    return Error{ErrorCode::kInput, "cannot continue " + Printable(files.result) + ": " + Printable(files.details) +
                                        " is missing; put it back beside it or start anew"};
  }
  header_seen = false;
  std::string last_api;
  status = ReadCsv(
      files.details,
      [&](std::size_t, std::vector<std::string>&& cells) {
        if (!header_seen) {
          header_seen = true;
          header_ok = IsHeader(cells, DetailsHeader());
          return header_ok;
        }
        bool backward = false;
        last_api = ApiOfRow(cells[0], &backward);
        Contents::Directions& directions = contents.details[last_api];
        (backward ? directions.backward : directions.forward) = true;
        if (cells.size() < kDetailsColumns) contents.torn.insert(last_api);
        return true;
      },
      &torn);
  if (!status) return status.error();
  if (!header_ok) return NotOurFile(files.details);
  contents.has_headers = contents.has_headers && header_seen;
  if (header_seen && !torn.empty()) {
    // The name of a torn row may be torn itself; then it is the API before it or the last one of the result CSV.
    const std::string api = ApiOfRow(torn.substr(0, torn.find(',')));
    contents.torn.insert(api);
    if (contents.rows.count(api) == 0) {
      contents.torn.insert(last_api);
      if (!contents.names.empty()) contents.torn.insert(contents.names.back());
    }
  }
  return contents;
}

/// Whether the details CSV has what the result row speaks of. The reference writes no details rows for dropout.
bool IsComplete(const Contents& contents, const std::string& name) {
  if (contents.torn.count(name) > 0) return false;
  if (name.find("dropout") != std::string::npos) return true;
  const auto details = contents.details.find(name);
  if (details == contents.details.end()) return false;
  const std::string backward = ToLowerAscii(Trim(contents.rows.at(name).backward));
  const bool needs_backward = backward == "pass" || backward == "warning" || backward == "error";
  return details->second.forward && (!needs_backward || details->second.backward);
}

/// Writes both CSVs anew: their headings and the rows of `kept`, as they are.
Status Rewrite(const ResultFiles& files, const std::unordered_set<std::string>& kept) {
  const auto copy = [&](const std::string& path, std::span<const std::string> header, bool is_details) -> Status {
    auto file = NewFile::Create(ParentPath(path));
    if (!file) return file.error();
    std::string text(kByteOrderMark);
    AppendCsvRow(text, header);
    if (Status status = file->Append(text); !status) return status;
    if (!kept.empty()) {
      Status written;
      std::string torn;
      std::unordered_set<std::string> seen;
      bool is_header = true;
      Status read = ReadCsv(
          path,
          [&](std::size_t, std::vector<std::string>&& cells) {
            if (std::exchange(is_header, false)) return true;
            const std::string api = is_details ? ApiOfRow(cells[0]) : cells[0];
            if (kept.count(api) == 0 || (!is_details && !seen.insert(api).second)) return true;
            text.clear();
            AppendCsvRow(text, cells);
            written = file->Append(text);
            return written.ok();
          },
          &torn);
      if (!read) return read;
      if (!written) return written;
    }
    return file->Publish(path);
  };
  if (Status status = copy(files.result, ResultHeader(), false); !status) return status;
  return copy(files.details, DetailsHeader(), true);
}

/// Without a journal only the names tell whether the file is of this dump.
Status CheckNames(const ResultFiles& files, const Contents& contents, const CheckPlan& plan) {
  std::unordered_set<std::string_view> known;
  for (const CheckCase& item : plan.cases) known.insert(item.full_name);
  std::size_t foreign = 0;
  std::string first;
  for (const std::string& name : contents.names) {
    if (known.count(name) == 0 && foreign++ == 0) first = Excerpt(name);
  }
  if (foreign == 0) return {};
  return Error{ErrorCode::kInput, "cannot continue " + Printable(files.result) + ": it holds " +
                                      CountText(foreign, "API") + " that this run does not check (the first: " + first +
                                      "); use the dump and the --only of that run, or start anew without -csv_path"};
}

void Keep(ResumedRun& run, const Contents& contents, const std::string& name) {
  const ResultRow& row = contents.rows.at(name);
  run.counts.Add(name, row.forward, row.backward);
  run.kept.insert(name);
}

}  // namespace

Result<ResumedRun> ResumeRun(const ResultFiles& files, const JournalHeader& header, const CheckPlan& plan) {
  ResumedRun run;
  if (Exists(files.journal)) {
    auto opened = Journal::Open(files.journal);
    if (!opened) return opened.error();
    if (opened->has_header) {
      const std::string difference = Difference(opened->header, header);
      if (!difference.empty()) {
        return Error{ErrorCode::kInput, "cannot continue " + Printable(files.result) + ": " + difference +
                                            "; use the settings of that run, or start anew without -csv_path"};
      }
      if (opened->header.kept_rows > 0) {
        auto contents = ReadContents(files, opened->header.kept_rows);
        if (!contents) return contents.error();
        for (const std::string& name : contents->names) Keep(run, *contents, name);
      }
      if (Status status = Rewrite(files, run.kept); !status) return status.error();
      run.journal.emplace(std::move(opened->journal));
      run.entries = std::move(opened->entries);
      return run;
    }
  }
  auto contents = ReadContents(files, UINT64_MAX);
  if (!contents) return contents.error();
  if (Status status = CheckNames(files, *contents, plan); !status) return status.error();
  for (const std::string& name : contents->names) {
    if (IsComplete(*contents, name)) Keep(run, *contents, name);
  }
  const std::size_t removed = contents->names.size() - run.kept.size();
  if (!contents->names.empty()) {
    run.warnings.push_back(
        "there is no journal beside " + BaseName(files.result) +
        ": its rows are kept as they are, whatever settings they were made with" +
        (removed > 0 ? "; " + CountText(removed, "API") + " with incomplete rows will be run again" : ""));
  }
  const bool orphans = std::any_of(contents->details.begin(), contents->details.end(),
                                   [&](const auto& item) { return run.kept.count(item.first) == 0; });
  const bool can_append = EndsWithLineFeed(files.result) && EndsWithLineFeed(files.details);
  if (removed > 0 || orphans || !contents->torn.empty() || !contents->has_headers || !can_append) {
    if (Status status = Rewrite(files, run.kept); !status) return status.error();
  }
  return run;
}

}  // namespace msprobe
