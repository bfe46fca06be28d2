#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace msprobe {

struct RecoveredFile {
  bool was_torn = false;    ///< else the file was left as it is
  std::string break_text;   ///< what broke and at which byte, when torn
  std::size_t members = 0;  ///< complete members that the file holds: records of dump.json, names of the other two
};

/// Makes valid JSON of a torn dump.json, stack.json or construct.json (spec decisions 14): everything behind the last
/// complete member is cut off and the closing text written. Works in place, so that it needs no space on a full disk;
/// interrupted, it can be run again. An error, and nothing changed: a file that is no JSON object, a symbolic link, a
/// file that a running process still writes.
Result<RecoveredFile> RecoverJsonFile(const std::string& path);

}  // namespace msprobe
