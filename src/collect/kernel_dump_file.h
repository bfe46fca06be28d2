#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/dump_settings.h"

namespace msprobe {

/// Level L2 of MindSpore: the framework dumps its kernels itself, as a JSON file says that is named in the environment.
struct KernelDumpFile {
  std::string path;  ///< in dump_path
  std::string content;
  /// Variables to set; those to remove have the value "".
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What of the framework decides how its file looks.
struct KernelDumpTarget {
  bool is_graph_engine = false;      ///< graph mode with jit_level O2; else kernel by kernel, or PyNative
  bool stores_statistics = true;     ///< not on a CPU: there the tool computes them from the tensors (decisions 42)
  bool prefixes_hash_names = false;  ///< "hash:md5" for "md5": MindSpore newer than 2.7.0
};

/// The file of mindspore_dump.md 9. Task overflow_check without the graph engine is an error.
Result<KernelDumpFile> MakeKernelDumpFile(const DumpSettings& settings, const KernelDumpTarget& target);

/// An error for a "name-regex(...)" in `list` that holds no regular expression.
Status CheckKernelNames(const DumpSettings& settings);

}  // namespace msprobe
