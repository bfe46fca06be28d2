#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "check/case_rows.h"

namespace msprobe {

/// Messages between the command and its Python processes (docs/architecture.md): JSON objects with a key "type", one to
/// a frame (FrameChannel).

/// To the spawner, first of all: everything that its workers need to know.
struct WorkerSettings {
  std::string device_type;  ///< "": found by the spawner
  std::vector<std::int64_t> device_ids;
  std::vector<std::string> imports;
  bool jit_compile = false;
  std::uint64_t seed = 0;
  int precision = 14;
  std::string dump_dir;                       ///< folder of dump.json
  std::optional<std::string> dump_data_dir;   ///< as recorded; absent: null
  std::string error_data_dir;                 ///< "": failing tensors are not saved
  std::string support_list;                   ///< path, "": the package's own
  std::vector<std::string> support_overlays;  ///< files on top of it
};
std::string SettingsMessage(const WorkerSettings& settings);
std::string SpawnMessage(std::uint64_t worker, std::int64_t device_id);

/// To a worker. The two texts are records of dump.json as they stand there; `backward` may be empty.
std::string CaseMessage(std::uint64_t index, const std::string& name, std::string_view forward,
                        std::string_view backward);

/// From the spawner.
struct SpawnerHello {
  std::string device_type;
  std::int64_t device_count = 0;
  std::string device_name;
  std::string framework_version;
  bool is_accelerator = false;
  std::vector<std::string> warnings;
};
struct SpawnerFailed {
  std::string code;  ///< "device", "library" or "input"
  std::string message;
};
struct WorkerSpawned {
  std::uint64_t worker = 0;
  std::int64_t pid = 0;
};
struct WorkerExited {
  std::uint64_t worker = 0;
  int signal = 0;  ///< 0: none
  int status = 0;
};
using SpawnerMessage = std::variant<SpawnerHello, SpawnerFailed, WorkerSpawned, WorkerExited>;
Result<SpawnerMessage> ParseSpawnerMessage(std::string_view text);

/// From a worker: that it is ready for its first case, or the rows of one.
struct WorkerMessage {
  bool is_ready = false;  ///< the rest is empty
  std::uint64_t index = 0;
  CaseRows rows;
};
Result<WorkerMessage> ParseWorkerMessage(std::string_view text);

}  // namespace msprobe
