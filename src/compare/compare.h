#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// api_precision_compare: judges each row of the device's details file against the benchmark device's, both measured
/// against the CPU (precision_standards.md).
struct CompareOptions {
  std::string npu_csv;           ///< details file of the device under test
  std::string gpu_csv;           ///< details file of the benchmark device
  std::string output_dir = ".";  ///< created if missing
  int precision = 14;            ///< decimals of computed numbers
  std::string time_stamp;        ///< 14 digits for the file names; "" = now
  bool documented_only = false;  ///< the letter of the document: no error is softened (decisions 39)
};

struct CompareSummary {
  std::string result_path;
  std::string details_path;
  /// APIs by their worst direction.
  std::size_t pass = 0;
  std::size_t warning = 0;
  std::size_t error = 0;
  std::size_t skip = 0;

  struct Finding {
    std::string name;
    std::string reason;
  };
  std::vector<Finding> errors;        ///< the first ten, in file order
  std::vector<std::string> warnings;  ///< one line each
};

/// Streams both files once; memory grows with the benchmark's file, the output files appear complete or not at all, and
/// no existing file is replaced: where a name is taken the stamp of the next free second is used. Errors: an input that
/// cannot be read or lacks headings (then nothing is created), an output that cannot be written.
Result<CompareSummary> CompareFiles(const CompareOptions& options);

/// The two details files of a comparison.
struct DetailsPair {
  std::string npu_csv;
  std::string gpu_csv;
};

/// Completes missing paths from `folder` (decisions 37): the roles follow from the files
/// `accuracy_checking_details_<stamp>.device` (one line: npu, cuda, ...) that the checker leaves beside its CSV files.
/// With both missing, exactly two details files must be there. Anything ambiguous is a kUsage error that names the
/// files.
Result<DetailsPair> FindDetailsFiles(const std::string& npu_csv, const std::string& gpu_csv, const std::string& folder);

}  // namespace msprobe
