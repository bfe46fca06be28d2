#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "record/tensor_extent.h"
#include "record/tensor_file.h"
#include "record/tensor_file_input.h"

namespace msprobe {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 64U << 10U;
constexpr std::size_t kMaxRank = 64;

struct KnownType {
  std::string_view descriptor;  ///< without its byte order
  DType dtype;
};

constexpr std::array<KnownType, 14> kTypes = {{{"b1", DType::kBool},
                                               {"u1", DType::kUint8},
                                               {"i1", DType::kInt8},
                                               {"u2", DType::kUint16},
                                               {"i2", DType::kInt16},
                                               {"u4", DType::kUint32},
                                               {"i4", DType::kInt32},
                                               {"u8", DType::kUint64},
                                               {"i8", DType::kInt64},
                                               {"f2", DType::kFloat16},
                                               {"f4", DType::kFloat32},
                                               {"f8", DType::kFloat64},
                                               {"c8", DType::kComplex64},
                                               {"c16", DType::kComplex128}}};

/// The header: a Python dict of a text, a bool and a tuple of integers, in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  bool Parse() {
    if (!Consume('{')) return false;
    while (!Consume('}')) {
      std::string_view key;
      if (!Text(key) || !Consume(':')) return false;
      if (key == "descr") {
        if (!Text(descriptor)) return false;
      } else if (key == "fortran_order") {
        if (!Bool()) return false;
      } else if (key == "shape") {
        if (!Shape()) return false;
      } else {
        return false;
      }
      ++keys_;
      if (!Consume(',') && !Peek('}')) return false;
    }
    Skip();
    return rest_.empty() && keys_ == 3 && !descriptor.empty() && shape.has_value() && fortran_order.has_value();
  }

  std::string_view descriptor;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;

 private:
  void Skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size())); }
  bool Peek(char c) {
    Skip();
    return rest_.starts_with(c);
  }
  bool Consume(char c) {
    if (!Peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Text(std::string_view& out) {
    const char quote = Peek('"') ? '"' : '\'';
    if (!Consume(quote)) return false;
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool Bool() {
    Skip();
    fortran_order = rest_.starts_with("True");
    if (!*fortran_order && !rest_.starts_with("False")) return false;
    rest_.remove_prefix(*fortran_order ? 4 : 5);
    return true;
  }
  bool Shape() {
    if (!Consume('(')) return false;
    shape.emplace();
    while (!Consume(')')) {
      Skip();
      const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const auto size = ParseInteger(rest_.substr(0, digits));
      if (!size.has_value() || shape->size() == kMaxRank) return false;
      shape->push_back(*size);
      rest_.remove_prefix(digits);
      if (!Consume(',') && !Peek(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
  int keys_ = 0;
};

std::optional<DType> FindType(std::string_view descriptor) {
  if (descriptor.empty() || std::string_view("<|=").find(descriptor.front()) == std::string_view::npos) {
    return std::nullopt;
  }
  for (const KnownType& known : kTypes) {
    if (known.descriptor == descriptor.substr(1)) return known.dtype;
  }
  return std::nullopt;
}

}  // namespace

Result<LoadedTensor> ReadNpyFile(const std::string& path) {
  const auto input = TensorFileInput::Open(path);
  if (!input.ok()) return input.error();
  std::array<char, 12> start{};
  const std::string_view head(start.data(), start.size());
  if (input->size() < start.size()) return input->Wrong("it is not a .npy file, or it is cut short");
  if (Status read = input->Read(0, start.data(), start.size()); !read.ok()) return read.error();
  if (!head.starts_with(kMagic)) return input->Wrong("it is not a .npy file");
  const int version = head[6];
  if (version < 1 || version > 3) return input->Wrong("its .npy version is unknown");
  std::size_t header_size = 0;
  const std::size_t header_start = version == 1 ? 10 : 12;
  for (std::size_t i = header_start; i-- > 8;) {
    header_size = (header_size << 8U) | static_cast<unsigned char>(head[i]);
  }
  if (header_size > kMaxHeaderBytes || header_size > input->size() - header_start) {
    return input->Wrong("its header is damaged");
  }
  std::string text(header_size, '\0');
  if (Status read = input->Read(header_start, text.data(), header_size); !read.ok()) return read.error();
  HeaderParser header(text);
  if (!header.Parse()) return input->Wrong("its header is damaged, or its elements are structures");
  const auto dtype = FindType(header.descriptor);
  if (!dtype.has_value()) {
    return input->Wrong("its element type " + Excerpt(header.descriptor) + " is not supported");
  }

  LoadedTensor loaded;
  loaded.dtype = *dtype;
  loaded.shape = std::move(*header.shape);
  // Strides are made only once the sizes are known to be possible.
  const std::vector<std::int64_t> no_strides(loaded.shape.size());
  const auto extent = ComputeExtent(loaded.shape, no_strides, ItemSize(*dtype));
  const std::uint64_t data_start = header_start + header_size;
  if (!extent.has_value() ||
      static_cast<std::uint64_t>(extent->count) * ItemSize(*dtype) != input->size() - data_start) {
    return input->Wrong("its size is not what its shape needs");
  }
  if (*header.fortran_order) {
    const std::vector<std::int64_t> reversed(loaded.shape.rbegin(), loaded.shape.rend());
    loaded.strides = RowMajorStrides(reversed);
    std::reverse(loaded.strides.begin(), loaded.strides.end());
  } else {
    loaded.strides = RowMajorStrides(loaded.shape);
  }
  try {
    loaded.bytes.resize(input->size() - data_start);
  } catch (const std::exception&) {
    return input->Wrong("there is not enough memory for it");
  }
  if (Status read = input->Read(data_start, loaded.bytes.data(), loaded.bytes.size()); !read.ok()) return read.error();
  return loaded;
}

Result<LoadedTensor> ReadTensorFile(const std::string& path, Crc32Function crc32) {
  if (path.ends_with(".pt")) return ReadPtFile(path, crc32);
  if (path.ends_with(".npy")) return ReadNpyFile(path);
  return Error{ErrorCode::kInput,
               "cannot read the tensor file " + Printable(path) + ": its name ends neither with .pt nor .npy"};
}

}  // namespace msprobe
