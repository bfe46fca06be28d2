#pragma once

#include <span>
#include <string>

#include "base/new_file.h"
#include "base/result.h"

namespace msprobe {

/// The two CSV files of a comparison: invisible until both are complete, then published under one stamp.
class OutputPair {
 public:
  static Result<OutputPair> Create(const std::string& folder);

  Status AppendDetails(std::span<const std::string> cells) { return Append(details_, cells); }
  Status AppendResult(std::span<const std::string> cells) { return Append(result_, cells); }

  /// Publishes both under `stamp` or, where one of the names is taken, under the next free second.
  Status Publish(const std::string& stamp);

  const std::string& details_path() const { return details_path_; }
  const std::string& result_path() const { return result_path_; }

 private:
  Status Append(NewFile& file, std::span<const std::string> cells);

  std::string folder_;
  NewFile details_;
  NewFile result_;
  std::string row_;
  std::string details_path_;
  std::string result_path_;
};

/// The second after a 14-digit stamp, as 14 digits again.
std::string NextStamp(const std::string& stamp);

}  // namespace msprobe
