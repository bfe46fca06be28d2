#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"  // Printable

namespace msprobe {

/// Path rules of config.md section 8 with decisions 20: any character but NUL and control characters, links resolved,
/// length limits 4096 and 255, regular file or directory where one is expected. Messages name the path and what to do.
/// `warnings` takes what is allowed but unusual: a link, or a foreign file that everyone may write.
Status CheckInputFile(const std::string& path, std::string_view required_suffix = {},
                      std::vector<std::string>* warnings = nullptr);
Status CheckInputDirectory(const std::string& path);

/// The same rules for a path that need not exist yet: text and lengths only.
Status CheckOutputPath(const std::string& path);

/// Creates the directory and its parents with mode 0750; an existing directory is fine.
Status CreateDirectories(const std::string& path);

/// Reads a whole small file (configuration); more than `limit` bytes is an error.
Result<std::string> ReadFile(const std::string& path, std::uint64_t limit = 1U << 30U);

/// Writes through a temporary name in the same folder and a rename, mode 0640: readers see the old file or the whole
/// new one.
Status WriteFileAtomically(const std::string& path, std::string_view content);

/// Joins a folder and a name that came out of an input file. The name may not be absolute, contain "..", a separator or
/// a control character, and the result may not be a symbolic link (decisions 20).
Result<std::string> ResolveInside(const std::string& folder, std::string_view name);

/// Absolute path without resolving links; "" stays "".
std::string AbsolutePath(const std::string& path);
std::string JoinPath(std::string_view folder, std::string_view name);
std::string ParentPath(const std::string& path);  ///< "." where there is none
std::string BaseName(const std::string& path);

/// 14 digits of local time, YYYYmmddHHMMSS.
std::string TimeStamp();

}  // namespace msprobe
