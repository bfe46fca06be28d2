#include "replay/tensor_planner.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "replay/api_traits.h"
#include "replay/random_range.h"

namespace msprobe {
namespace {

// Storage larger than this multiple of the elements (plus a floor) is not reproduced: a recorded stride may be
// anything.
constexpr std::int64_t kMaxStorageFactor = 16;
constexpr std::int64_t kMaxStorageFloor = std::int64_t{1} << 20;
// Only the alignment of a storage offset matters to a kernel.
constexpr std::int64_t kOffsetPeriod = 4096;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
// No operator takes more, and the framework's time grows with the square of it.
constexpr std::size_t kMaxDimensions = 1024;

Error InputError(std::string_view position, std::string_view what) {
  return Error{ErrorCode::kInput, std::string(position) + ": " + std::string(what)};
}

std::optional<std::int64_t> CountElements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size != 0 && count > kMaxElements / size) {
      // An empty dimension further on makes the tensor empty after all.
      if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
      return std::nullopt;
    }
    count *= size;
  }
  return count;
}

bool IsRowMajor(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

// Elements from the first to the last one that the strides reach; nothing if the numbers are out of any bound.
std::optional<std::int64_t> Extent(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) return std::nullopt;
    if (shape[i] > 1 && strides[i] > (kMaxElements - extent) / (shape[i] - 1)) return std::nullopt;
    extent += (shape[i] - 1) * strides[i];
  }
  return extent;
}

// Takes over the layout if it is one that can be made; else the tensor stays contiguous.
void PlanLayout(const std::vector<std::int64_t>& strides, std::int64_t offset, std::int64_t count, TensorSpec& spec) {
  spec.storage_count = count;
  if (count == 0 || strides.size() != spec.shape.size()) return;
  const bool row_major = IsRowMajor(spec.shape, strides);
  if (row_major && offset <= 0) return;
  const auto extent = Extent(spec.shape, strides);
  if (!extent || (*extent > kMaxStorageFloor && *extent / kMaxStorageFactor > count)) return;
  spec.strides = strides;
  spec.storage_offset = std::max<std::int64_t>(offset, 0) % kOffsetPeriod;
  spec.storage_count = spec.storage_offset + *extent;
}

// dtype under which an API gets an argument that was recorded with `dtype` (accuracy_checker.md 7.1, fault kind B99).
DType ConvertedDType(DType dtype, std::string_view api) {
  if (api == "cross_entropy" && dtype == DType::kInt32) return DType::kInt64;
  if (api == "histc" && IsInteger(dtype)) return DType::kFloat32;
  return dtype;
}

// The folder beside dump.json first, since dumps are copied between machines, then the recorded one (decisions 24).
Result<LoadedTensor> LoadRecordedData(const TensorElement& tensor, std::string_view position,
                                      const ReplaySettings& settings) {
  // Older files hold a path; only its last part is used, so that nothing outside the dump is ever read.
  const std::string name = tensor.datapath.empty() ? tensor.data_name : BaseName(tensor.datapath);
  std::vector<std::string> folders = {JoinPath(settings.dump_directory, "dump_tensor_data")};
  if (settings.recorded_data.has_value()) folders.push_back(*settings.recorded_data);
  std::optional<Error> first_error;
  for (const std::string& folder : folders) {
    auto path = ResolveInside(folder, name);
    if (!path.ok()) return InputError(position, path.error().message);
    const Status usable = CheckInputFile(path.value());
    if (!usable.ok()) {
      if (!first_error) first_error = usable.error();
      continue;
    }
    auto loaded = ReadTensorFile(path.value());
    if (!loaded.ok()) return InputError(position, loaded.error().message);
    return loaded;
  }
  return InputError(position, first_error->message);
}

// Whether a file's dtype stands for the recorded one: .npy has no bfloat16 and float8 (decisions 10).
bool IsWidenedInFile(DType recorded, DType in_file) {
  return in_file == DType::kFloat32 && (recorded == DType::kBFloat16 || IsFloat8(recorded));
}

}  // namespace

Result<TensorSpec> PlanTensor(const TensorElement& tensor, std::string position, const TensorContext& context) {
  const auto recorded = ParseDType(tensor.dtype);
  if (!recorded) {
    return InputError(position, "dtype \"" + Excerpt(tensor.dtype, 60) + "\" cannot be replayed");
  }
  TensorSpec spec;
  spec.dtype = *recorded;
  spec.shape = tensor.shape;
  std::vector<std::int64_t> strides = tensor.stride.value_or(std::vector<std::int64_t>{});
  std::int64_t offset = tensor.storage_offset.value_or(0);

  const bool from_file = !tensor.data_name.empty() || !tensor.datapath.empty();
  if (from_file) {
    auto loaded = LoadRecordedData(tensor, position, *context.settings);
    if (!loaded.ok()) return loaded.error();
    spec.loaded = std::make_shared<LoadedTensor>(std::move(loaded.value()));
    if (!IsWidenedInFile(spec.dtype, spec.loaded->dtype)) spec.dtype = spec.loaded->dtype;
    spec.shape = spec.loaded->shape;
  }
  if (spec.shape.size() > kMaxDimensions) {
    return InputError(position, "its shape has " + std::to_string(spec.shape.size()) + " dimensions");
  }
  const auto count = CountElements(spec.shape);
  if (!count) return InputError(position, "its shape cannot be made");

  if (from_file) {
    // The storage of the file is taken as it is, with its own strides. A contiguous one is all there is of an .npy
    // file; the recorded layout is then not reproduced.
    PlanLayout(spec.loaded->strides, 0, *count, spec);
    if (spec.strides.empty() && *count > 0 && !spec.loaded->strides.empty() &&
        !IsRowMajor(spec.shape, spec.loaded->strides)) {
      return InputError(position, "the layout of its file cannot be made");
    }
  } else {
    PlanLayout(strides, offset, *count, spec);
  }

  spec.dtype = ConvertedDType(spec.dtype, context.api);
  spec.bench_dtype = spec.dtype;
  spec.requires_grad = tensor.requires_grad.value_or(false) && (IsFloating(spec.dtype) || IsComplex(spec.dtype));
  if (UsesHf32(context.api) && spec.dtype == DType::kFloat32) spec.rounding = InputRounding::kHf32;
  if (!from_file) {
    auto range = PlanRandomRange(tensor, *count > 0);
    if (!range.ok()) return InputError(position, range.error().message);
    spec.range = range.value();
    spec.key = RandomKey(context.settings->seed, context.call_name, position);
  }
  spec.position = std::move(position);
  return spec;
}

}  // namespace msprobe
