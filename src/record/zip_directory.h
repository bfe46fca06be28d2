#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "record/tensor_file_input.h"

namespace msprobe {

/// A stored (not compressed) member of a ZIP file.
struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  ///< of its first byte in the file
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  ///< 0: torch.save was told not to compute it
};

/// Reads the directory of a ZIP file, 64-bit sizes and data descriptors included. Every member must be
/// stored, lie inside the file before the directory, overlap no other, and have the name that the directory gives it.
/// At most 1000 members.
Result<std::vector<ZipMember>> ReadZipDirectory(const TensorFileInput& input);

}  // namespace msprobe
