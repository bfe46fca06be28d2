#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// A tensor read from a file; strides and offset in elements. `bytes` is the storage.
struct LoadedTensor {
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t storage_offset = 0;
  std::vector<std::byte> bytes;
};

/// CRC-32 with zlib's polynomial, continued from `crc`: numerics' Crc32, or another of its form. Null stands for a
/// portable one of a few GB/s.
using Crc32Function = std::uint32_t (*)(std::uint32_t crc, const void* data, std::size_t size);

/// The bytes of a `.pt` file as torch.load(weights_only=True) reads it (dump_format.md 9.2): ZIP, members stored,
/// pickle protocol 2, location "cpu". The storage range that the view covers is written as it is, with its strides, so
/// that expanded tensors stay small (decisions 10); a view with gaps whose range is more than 64 KiB and 8 times its
/// elements is written in row-major order without the gaps. dtypes without a storage class of their own go as
/// torch.UntypedStorage with _rebuild_tensor_v3. The file appears under its name when complete (0640); one of that name
/// is replaced, a link never followed.
Status WritePtFile(const std::string& path, const TensorView& view, Crc32Function crc32 = nullptr);

/// A `.npy` file of format 1.0 (2.0 for long headers), in C order; bfloat16 and fp8 as float32, complex32 as complex64.
/// Appears as above.
Status WriteNpyFile(const std::string& path, const TensorView& view);

/// Reads one tensor, never executing anything: of the pickle only the globals of dump_format.md 9.2 and the structure
/// of one tensor are understood; sizes, offsets and strides are checked against the storage, checksums against the
/// bytes. Accepts files of torch.save in zip form, also those with `_rebuild_tensor_v3`, `_rebuild_parameter` and
/// plug-in rebuild functions with the same leading arguments. Compressed members, big-endian files, symbolic links and
/// everything else: an error that says what was found. An expanded tensor may have far more elements than its storage
/// holds.
Result<LoadedTensor> ReadPtFile(const std::string& path, Crc32Function crc32 = nullptr);

/// Formats 1.0 to 3.0, little-endian plain element types, both orders; the file must be as long as its shape says.
Result<LoadedTensor> ReadNpyFile(const std::string& path);

/// By suffix `.pt` or `.npy`.
Result<LoadedTensor> ReadTensorFile(const std::string& path, Crc32Function crc32 = nullptr);

}  // namespace msprobe
