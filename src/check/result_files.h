#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace msprobe {

/// The files of one run: accuracy_checking_result_<stamp>.csv and what lies beside it.
struct ResultFiles {
  std::string result;
  std::string details;
  std::string journal;  ///< `<result>.journal`, there while the run is not finished (decisions 31)
  std::string device;   ///< `<details without .csv>.device`: one line, the type of the device under test (decisions 37)
  std::string stamp;    ///< 14 digits
};

ResultFiles ResultFilesFor(const std::string& folder, std::string_view stamp);

/// The files of an earlier run, from the path of its result CSV (links resolved). Only the file name is looked at,
/// never the folders above it (fault kind B84). Errors: the file does not exist or is not named
/// accuracy_checking_result_<14 digits>.csv.
Result<ResultFiles> ExistingResultFiles(const std::string& result_csv);

/// The files of the first stamp from `stamp` on, second by second, under which none of them exists in `folder`, nor
/// anything named `error_folder_prefix` + stamp (which may be empty). The name is taken at once, by an empty journal:
/// runs that start together get different ones, though the first row comes only when the device is known to work.
Result<ResultFiles> TakeResultFiles(const std::string& folder, std::string_view stamp,
                                    const std::string& error_folder_prefix);

/// Gives back what TakeResultFiles took, unless the run has begun its journal.
void ReleaseResultFiles(const ResultFiles& files);

}  // namespace msprobe
