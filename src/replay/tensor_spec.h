#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "numerics/random.h"
#include "record/tensor_file.h"
#include "tensor/dtype.h"

namespace msprobe {

/// How the values of a tensor are rounded before both sides get them, so that the device's own rounding of its inputs
/// is not taken for an error.
enum class InputRounding : std::uint8_t {
  kNone,
  kHf32,     ///< 11 mantissa bits (accuracy_checker.md 7.5); float32 only
  kFloat16,  ///< what autocast makes of a float32 input
  kBFloat16,
};

/// One tensor to be made for a call: its storage, how the tensor lies in it, and where the values come from.
struct TensorSpec {
  std::string position;                 ///< as in the dump: "input.0.1", "kwargs.weight", "backward.input.0"
  DType dtype = DType::kFloat32;        ///< on the device
  DType bench_dtype = DType::kFloat32;  ///< on the bench, raised (accuracy_checker.md 8.1)
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< in elements; empty: contiguous with offset 0
  std::int64_t storage_offset = 0;
  std::int64_t storage_count = 0;  ///< elements of the storage, the offset included
  bool requires_grad = false;
  InputRounding rounding = InputRounding::kNone;

  /// True above the diagonal of a two-dimensional bool tensor: the compressed attention mask (accuracy_checker.md 7.2).
  bool strict_upper_triangle = false;
  /// Random values (accuracy_checker.md 7.3) unless `loaded` holds those of a file.
  RandomRange range;
  std::uint64_t key = 0;
  std::shared_ptr<LoadedTensor> loaded;
};

/// Writes the values of `spec` into its storage of `storage_count` elements of `spec.dtype` at `out`, which holds
/// `size` bytes. Elements before the offset become zero. Releases the data of a file.
Status FillStorage(TensorSpec& spec, void* out, std::size_t size);

/// Rounds one float32 to HF32: 12 bits are dropped, half away from zero. Infinity and NaN stay what they are, and the
/// largest finite values do not overflow.
float RoundToHf32(float value);

}  // namespace msprobe
