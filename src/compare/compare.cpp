#include "compare/compare.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/csv.h"
#include "base/files.h"
#include "base/format.h"
#include "base/text.h"
#include "compare/api_name.h"
#include "compare/api_results.h"
#include "compare/benchmark_rows.h"
#include "compare/details_file.h"
#include "compare/judge.h"
#include "compare/output_pair.h"

namespace msprobe {
namespace {

constexpr std::size_t kMostErrors = 10;
constexpr int kMostDecimals = 100;

bool IsStamp(std::string_view text) {
  return text.size() == 14 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first = {};
  struct stat second = {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

/// Counts what is worth one warning each, with the first name as an example.
struct Tally {
  std::size_t count = 0;
  std::string first;

  void Add(std::string_view name) {
    if (count++ == 0) first = Excerpt(name, 120);
  }
};

/// The comparison at work: rows in, rows out, results and warnings gathered.
class Comparison {
 public:
  Comparison(const CompareOptions& options, OutputPair& output)
      : options_(options), settings_{options.precision, options.documented_only}, output_(output) {}

  Status Run(std::vector<std::string>& warnings) {
    const auto insert = [&](MeasuredRow&& row) {
      if (!benchmark_.Insert(row)) benchmark_duplicates_.Add(row.name);
    };
    if (Status read = ReadDetailsFile(options_.gpu_csv, insert, warnings); !read.ok()) return read;
    if (Status heading = WriteHeadings(); !heading.ok()) return heading;
    const auto judge = [&](MeasuredRow&& row) {
      if (written_.ok()) JudgeOne(row);
    };
    if (Status read = ReadDetailsFile(options_.npu_csv, judge, warnings); !read.ok()) return read;
    for (const std::string_view name : benchmark_.Untaken()) {
      missing_on_device_.Add(name);
      SkipUnjudged(name, "this row is missing in the NPU's file");
    }
    if (written_.ok()) AddWarnings(warnings);
    return written_;
  }

  const ApiResults& results() const { return results_; }

 private:
  Status WriteHeadings() {
    const std::vector<std::string> details(kDetailsHeadings.begin(), kDetailsHeadings.end());
    const std::vector<std::string> result(kResultHeadings.begin(), kResultHeadings.end());
    if (Status heading = output_.AppendDetails(details); !heading.ok()) return heading;
    return output_.AppendResult(result);
  }

  void JudgeOne(const MeasuredRow& row) {
    Measurements benchmark;
    switch (benchmark_.Take(row.name, benchmark)) {
      case BenchmarkRows::Lookup::kTakenBefore:
        device_duplicates_.Add(row.name);
        return;
      case BenchmarkRows::Lookup::kAbsent:
        if (!device_only_.insert(row.name).second) {
          device_duplicates_.Add(row.name);
          return;
        }
        missing_on_benchmark_.Add(row.name);
        SkipUnjudged(row.name, "this row is missing in the GPU's file");
        return;
      case BenchmarkRows::Lookup::kFound:
        ++common_rows_;
        break;
    }
    const std::optional<RowName> name = ParseRowName(row.name);
    if (name) {
      Emit(*name, JudgeRow(name->api, row, benchmark, settings_));
    } else {
      SkipUnjudged(row.name, "");
    }
  }

  // A row that is not compared; one whose name cannot be parsed says that instead.
  void SkipUnjudged(std::string_view row_name, const std::string& reason) {
    if (const std::optional<RowName> name = ParseRowName(row_name)) return Emit(*name, SkipRow(row_name, reason));
    const Judgement judgement = SkipRow(row_name, "the name is not of the form Type.api.number.forward.output.index");
    unparsable_.Add(row_name);
    results_.AddUnparsable(row_name, judgement);
    Write(judgement);
  }

  // Hands the judgement to the API it belongs to and writes the details row.
  void Emit(const RowName& name, const Judgement& judgement) {
    results_.Add(name.full_name, name.api, name.backward, judgement);
    Write(judgement);
  }

  void Write(const Judgement& judgement) {
    if (Status row = output_.AppendDetails(judgement.cells); !row.ok()) written_ = row;
  }

  void AddWarnings(std::vector<std::string>& warnings) const {
    const auto add = [&](const Tally& tally, std::string_view what, const std::string& where) {
      if (tally.count == 0) return;
      warnings.push_back(fmt::format("{}: {} {} (the first: {})", Printable(where), tally.count, what, tally.first));
    };
    add(device_duplicates_, "repeated rows were left out, the first of each counts", options_.npu_csv);
    add(benchmark_duplicates_, "repeated rows were left out, the first of each counts", options_.gpu_csv);
    add(missing_on_benchmark_, "rows are missing in the GPU's file and are SKIP", options_.npu_csv);
    add(missing_on_device_, "rows are missing in the NPU's file and are SKIP", options_.gpu_csv);
    add(unparsable_, "rows have a name that is no output of an API and are SKIP", options_.npu_csv);
    if (common_rows_ == 0) {
      warnings.push_back(fmt::format("{} and {} have no row in common; nothing was compared",
                                     Printable(options_.npu_csv), Printable(options_.gpu_csv)));
    } else if (IsSameFile(options_.npu_csv, options_.gpu_csv)) {
      warnings.push_back(
          fmt::format("{} was compared with itself, which shows nothing about a device", Printable(options_.npu_csv)));
    }
  }

  const CompareOptions& options_;
  JudgeSettings settings_;
  OutputPair& output_;
  Status written_;
  BenchmarkRows benchmark_;
  std::unordered_set<std::string> device_only_;
  ApiResults results_;
  std::size_t common_rows_ = 0;
  Tally device_duplicates_;
  Tally benchmark_duplicates_;
  Tally missing_on_benchmark_;
  Tally missing_on_device_;
  Tally unparsable_;
};

void Count(const ApiResult& result, CompareSummary& summary) {
  switch (result.Overall()) {
    case Verdict::kError:
      ++summary.error;
      if (summary.errors.size() < kMostErrors) {
        summary.errors.push_back({Excerpt(result.name, 200), Excerpt(result.reason, 300)});
      }
      return;
    case Verdict::kWarning:
      ++summary.warning;
      return;
    case Verdict::kPass:
      ++summary.pass;
      return;
    case Verdict::kSkip:
    case Verdict::kBlank:
      ++summary.skip;
      return;
  }
}

Status WriteResults(const ApiResults& results, OutputPair& output, CompareSummary& summary) {
  Status written;
  results.ForEach([&](const ApiResult& result) {
    Count(result, summary);
    const std::array<std::string, kResultHeadings.size()> cells = {
        result.name, std::string(VerdictWord(result.forward)), std::string(VerdictWord(result.backward)),
        result.message};
    if (Status row = output.AppendResult(cells); !row.ok()) written = row;
  });
  return written;
}

}  // namespace

Result<CompareSummary> CompareFiles(const CompareOptions& options) {
  CompareOptions checked = options;
  if (checked.output_dir.empty()) checked.output_dir = ".";
  if (checked.time_stamp.empty()) checked.time_stamp = TimeStamp();
  if (!IsStamp(checked.time_stamp)) {
    return Error{ErrorCode::kUsage,
                 fmt::format("the time stamp \"{}\" has not 14 digits", Excerpt(checked.time_stamp, 40))};
  }
  checked.precision = std::clamp(checked.precision, 0, kMostDecimals);
  CompareSummary summary;
  // Both headings first: a file of the wrong kind creates nothing.
  if (Status npu = CheckDetailsFile(checked.npu_csv, summary.warnings); !npu.ok()) return npu.error();
  if (Status gpu = CheckDetailsFile(checked.gpu_csv, summary.warnings); !gpu.ok()) return gpu.error();
  if (Status folder = CreateDirectories(checked.output_dir); !folder.ok()) return folder.error();
  Result<OutputPair> output = OutputPair::Create(checked.output_dir);
  if (!output.ok()) return output.error();
  Comparison comparison(checked, *output);
  if (Status run = comparison.Run(summary.warnings); !run.ok()) return run.error();
  if (Status results = WriteResults(comparison.results(), *output, summary); !results.ok()) return results.error();
  if (Status published = output->Publish(checked.time_stamp); !published.ok()) return published.error();
  summary.result_path = output->result_path();
  summary.details_path = output->details_path();
  return summary;
}

}  // namespace msprobe
