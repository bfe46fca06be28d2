#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace msprobe {

/// What the pickle of a `.pt` file says about its one tensor.
struct PickledTensor {
  DType dtype = DType::kFloat32;
  std::string storage_key;  ///< name of the storage's member behind "data/"
  std::uint64_t storage_bytes = 0;
  std::int64_t storage_offset = 0;  ///< in elements, as the strides
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// Understands the pickle of one tensor (dump_format.md 9.2) and executes nothing: no name is looked up, a call of a
/// rebuild function only has its leading arguments taken: storage, offset, sizes, strides. Every other global, opcode
/// or structure is an error that names it. The numbers are as they stand there; whether they fit the storage is the
/// caller's.
Result<PickledTensor> ParseTensorPickle(std::string_view pickle);

}  // namespace msprobe
