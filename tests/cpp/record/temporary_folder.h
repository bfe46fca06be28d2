#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/temporary_folder.h"

namespace msprobe {

inline std::string ReadText(const std::string& path) { return TemporaryFolder::Read(path); }

/// Replaces the file. (Truncating it would make some file systems write it to the disk at once.)
inline void WriteText(const std::string& path, std::string_view text) {
  std::filesystem::remove(path);
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace msprobe
