#include <algorithm>
#include <vector>

#include "record/new_tensor_file.h"
#include "record/tensor_file.h"
#include "tensor/element_conversion.h"

namespace msprobe {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLongestHeader1 = 65535;

/// The dtype of the file's elements: NumPy has neither bfloat16 nor fp8 nor half complex.
DType FileDType(DType dtype) {
  if (dtype == DType::kBFloat16 || IsFloat8(dtype)) return DType::kFloat32;
  return dtype == DType::kComplex32 ? DType::kComplex64 : dtype;
}

std::string Descriptor(DType dtype) {
  const std::string size = std::to_string(ItemSize(dtype));
  if (dtype == DType::kBool) return "|b1";
  if (dtype == DType::kUint8) return "|u1";
  if (dtype == DType::kInt8) return "|i1";
  if (IsComplex(dtype)) return "<c" + size;
  if (IsFloating(dtype)) return "<f" + size;
  const bool is_unsigned = dtype == DType::kUint16 || dtype == DType::kUint32 || dtype == DType::kUint64;
  return (is_unsigned ? "<u" : "<i") + size;
}

/// Magic, version, length and the header text, padded so that the elements start at a multiple of 64 bytes.
std::string Header(DType dtype, std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '" + Descriptor(dtype) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : " ") + std::to_string(shape[i]) + ",";
  if (shape.size() > 1) text.pop_back();
  text += "), }";
  const bool long_header = text.size() + kAlignment > kLongestHeader1;
  const std::size_t start = long_header ? 12 : 10;
  text.append(kAlignment - 1 - (start + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += long_header ? '\2' : '\1';
  header += '\0';
  for (std::size_t i = 0; i < start - 8; ++i) header += static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  return header + text;
}

}  // namespace

Status WriteNpyFile(const std::string& path, const TensorView& view) {
  auto file = NewTensorFile::Create(path);
  if (!file.ok()) return file.error();
  const DType file_dtype = FileDType(view.dtype);
  const std::size_t item = ItemSize(view.dtype);
  const std::string header = Header(file_dtype, view.shape);
  Status status;
  if (file_dtype == view.dtype && IsContiguous(view)) {
    status = file->Write(header, AsBytes(view.data, static_cast<std::size_t>(ElementCount(view)) * item));
    return status.ok() ? file->Publish() : status;
  }
  status = file->Write(header);
  std::vector<float> converted;
  const int components = ComponentCount(view.dtype);
  ForEachBlock(view, [&](const void* data, std::int64_t count) {
    if (!status.ok()) return;
    if (file_dtype == view.dtype) {
      status = file->Write(AsBytes(data, static_cast<std::size_t>(count) * item));
      return;
    }
    // A contiguous tensor comes in one block, which is converted piece by piece.
    constexpr std::int64_t kPiece = 64 << 10;
    const auto* bytes = static_cast<const std::byte*>(data);
    for (std::int64_t done = 0; done < count && status.ok(); done += kPiece) {
      const std::int64_t part = std::min(kPiece, count - done);
      converted.resize(static_cast<std::size_t>(part * components));
      ConvertToFloat(ComponentDType(view.dtype), bytes + static_cast<std::size_t>(done) * item, part * components,
                     converted.data());
      status = file->Write(AsBytes(converted.data(), converted.size() * sizeof(float)));
    }
  });
  return status.ok() ? file->Publish() : status;
}

}  // namespace msprobe
