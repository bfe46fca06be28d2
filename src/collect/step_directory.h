#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace msprobe {

/// The folder `step{n}/rank{r}` of one process in one step, `rank` without a rank (dump_format.md 1). A folder left by
/// an earlier run is renamed to `rank{r}.<time of its last change, 14 digits>`; if its owner is alive, ours is
/// `rank{r}_p{pid}` (decisions 17). The owner holds an advisory lock on the folder until this object goes.
class StepDirectory {
 public:
  static Result<StepDirectory> Create(const std::string& dump_path, std::int64_t step,
                                      std::optional<std::int64_t> rank);

  /// The rank has become known: renames the folder `rank` to `rank{r}`, under the rules above.
  Status AdoptRank(std::int64_t rank);

  /// Removes the folder if it holds nothing but `files` and empty folders.
  void RemoveIfUnused(std::initializer_list<std::string_view> files);

  const std::string& path() const { return path_; }
  const std::string& step_path() const { return step_path_; }
  /// One line when an earlier folder was set aside or belongs to a living process; else empty.
  const std::string& warning() const { return warning_; }

  StepDirectory(StepDirectory&& other) noexcept;
  StepDirectory& operator=(StepDirectory&& other) noexcept;
  ~StepDirectory();

 private:
  StepDirectory() = default;
  std::string path_;
  std::string step_path_;
  std::string warning_;
  int lock_ = -1;
};

}  // namespace msprobe
