#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/support_list.h"

namespace msprobe {

/// What the parent process tells a worker once, as far as replaying depends on it.
struct ReplaySettings {
  std::uint64_t seed = 1234;
  int precision = 14;                        ///< decimals of floating numbers in the CSV files
  std::string device_type;                   ///< "cpu", "npu", "cuda", ... of the device under test
  std::string dump_directory;                ///< folder of dump.json
  std::optional<std::string> recorded_data;  ///< "dump_data_dir" of the dump
  std::string error_data_directory;          ///< empty: failing data is not saved
  SupportList names;                         ///< APIs that may be called
};

/// Reads the message {"type": "settings", ...} and the support list it names.
Result<ReplaySettings> ParseReplaySettings(std::string_view message);

}  // namespace msprobe
