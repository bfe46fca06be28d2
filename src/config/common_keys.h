#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/json_document.h"

namespace msprobe {

/// Top-level keys of a config.json, checked (config.md 2.2). Texts are "" where the key is missing.
struct CommonKeys {
  std::string task;
  std::string level;
  std::string dump_path;
  std::vector<std::int64_t> ranks;
  std::vector<std::int64_t> steps;
  std::optional<std::int64_t> seed;
  std::optional<bool> is_deterministic;
  bool extra_info = true;
  bool pynative_synchronize = true;
  std::string acl_config;
  bool async_dump = false;
  std::string risk_level;
  std::vector<std::string> support_lists;  ///< overlay files as written
  std::vector<std::string> custom_op_namespaces;
};

/// The key "support_list": one path or a list of paths, as written.
Result<std::vector<std::string>> ReadSupportLists(const JsonSection& root);

Result<CommonKeys> ReadCommonKeys(const JsonSection& root);

}  // namespace msprobe
