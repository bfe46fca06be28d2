// Writes `.pt` files. Layout of the ZIP file: data.pkl, byteorder, version, then data/0 at a multiple of 64 bytes, then
// the directory, so that everything before and behind the storage is one small piece each.
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "record/new_tensor_file.h"
#include "record/tensor_extent.h"
#include "record/tensor_file.h"
#include "record/torch_storage.h"
#include "record/zip_crc32.h"

namespace msprobe {
namespace {

constexpr std::string_view kFolder = "archive/";
constexpr std::size_t kAlignment = 64;
constexpr std::uint32_t kUse64Bit = 0xFFFFFFFFU;

/// A gapped view whose storage range is this much larger than its elements is written without the gaps.
constexpr std::int64_t kMaxGapFactor = 8;
constexpr std::uint64_t kSmallStorageBytes = 64 << 10;

/// Appends integers in little-endian order.
class LittleEndian {
 public:
  explicit LittleEndian(std::string& out) : out_(out) {}
  LittleEndian& U16(std::uint64_t value) { return Append(value, 2); }
  LittleEndian& U32(std::uint64_t value) { return Append(value, 4); }
  LittleEndian& U64(std::uint64_t value) { return Append(value, 8); }

 private:
  LittleEndian& Append(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>((value >> (8 * i)) & 0xFFU);
    return *this;
  }
  std::string& out_;
};

/// Pickle protocol 2, only what a tensor needs and nothing memorised.
class Pickle {
 public:
  std::string text = std::string("\x80\x02", 2);

  void Global(std::string_view module, std::string_view name) {
    text += 'c';
    text.append(module).append("\n").append(name).append("\n");
  }
  void Text(std::string_view value) {
    text += 'X';
    LittleEndian(text).U32(value.size());
    text += value;
  }
  void Integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
      text += 'K';
      text += static_cast<char>(value);
    } else if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
      text += 'J';
      LittleEndian(text).U32(static_cast<std::uint64_t>(value));
    } else {
      text += "\x8a\x08";
      LittleEndian(text).U64(static_cast<std::uint64_t>(value));
    }
  }
  void Integers(std::span<const std::int64_t> values) {
    text += '(';
    for (const std::int64_t value : values) Integer(value);
    text += 't';
  }
  void Code(std::string_view opcodes) { text += opcodes; }
};

/// What goes into the file: `bytes` of storage and how the tensor lies in it. With `dense` the storage is the elements
/// in row-major order and must be gathered.
struct Storage {
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::vector<std::int64_t> strides;
  bool dense = false;
};

/// The storage range from the first to the last element that the view touches.
Result<Storage> FindStorage(const std::string& path, const TensorView& view) {
  const std::size_t item = ItemSize(view.dtype);
  Storage storage;
  storage.data = static_cast<const std::byte*>(view.data);
  std::vector<std::int64_t> strides(view.strides.begin(), view.strides.end());
  if (strides.empty()) strides.assign(view.shape.size(), 0);
  const auto extent = ComputeExtent(view.shape, strides, item);
  if (!extent.has_value()) {
    return Error{ErrorCode::kInput,
                 "cannot write " + Printable(path) + ": the tensor's shape and strides are impossible"};
  }
  storage.strides = view.strides.empty() ? RowMajorStrides(view.shape) : std::move(strides);
  if (extent->count == 0) return storage;
  const std::int64_t range = view.strides.empty() ? extent->count : extent->highest - extent->lowest + 1;
  storage.bytes = static_cast<std::uint64_t>(range) * item;
  // Negative strides do not exist in torch; gaps may be far larger than the elements (one column of a matrix).
  if (extent->lowest < 0 || (range / kMaxGapFactor > extent->count && storage.bytes > kSmallStorageBytes)) {
    storage.bytes = static_cast<std::uint64_t>(extent->count) * item;
    storage.strides = RowMajorStrides(view.shape);
    storage.dense = true;
  }
  return storage;
}

/// A call of torch._utils._rebuild_tensor_v2 or _v3 (dump_format.md 9.2).
std::string TensorPickle(const TensorView& view, const Storage& storage) {
  const std::string_view storage_class = StorageClassName(view.dtype);
  const bool typed = !storage_class.empty();
  const auto item = static_cast<std::int64_t>(ItemSize(view.dtype));
  Pickle pickle;
  pickle.Global("torch._utils", typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  pickle.Code("((");
  pickle.Text("storage");
  pickle.Global(typed ? "torch" : "torch.storage", typed ? storage_class : "UntypedStorage");
  pickle.Text("0");
  pickle.Text("cpu");
  pickle.Integer(static_cast<std::int64_t>(storage.bytes) / (typed ? item : 1));
  pickle.Code("tQ");
  pickle.Integer(0);  // storage offset
  pickle.Integers(view.shape);
  pickle.Integers(storage.strides);
  pickle.Code("\x89");  // requires_grad: false
  pickle.Global("collections", "OrderedDict");
  pickle.Code(")R");
  if (!typed) pickle.Global("torch", ShortName(view.dtype));
  pickle.Code("tR.");
  return std::move(pickle.text);
}

/// Builds the file around the storage.
class ZipLayout {
 public:
  void AddMember(std::string_view name, std::string_view content) {
    StartMember(name, content.size(), ZipCrc32(0, content.data(), content.size()));
    before += content;
  }

  /// The last member, whose content the caller writes between `before` and `behind`.
  void AddStorage(std::string_view name, std::uint64_t size, std::uint32_t crc) {
    StartMember(name, size, crc);
    Finish(before.size() + size);
  }

  std::string before;
  std::string behind;

 private:
  void StartMember(std::string_view name, std::uint64_t size, std::uint32_t crc) {
    const bool large = size >= kUse64Bit;
    const std::uint64_t offset = before.size();
    // Local header: the extra field carries the sizes of a large member and pads the content to the alignment.
    std::string extra;
    if (large) LittleEndian(extra).U16(1).U16(16).U64(size).U64(size);
    const std::size_t start = before.size() + 30 + kFolder.size() + name.size() + extra.size() + 4;
    const std::size_t padding = (kAlignment - start % kAlignment) % kAlignment;
    extra += "FB";
    LittleEndian(extra).U16(padding);
    extra.append(padding, 'Z');
    const auto common = [&](std::string& out, std::size_t extra_size) {
      LittleEndian(out).U16(large ? 45 : 20).U16(0).U16(0).U16(0).U16(0x21).U32(crc);  // stored, 1 January 1980
      LittleEndian(out).U32(large ? kUse64Bit : size).U32(large ? kUse64Bit : size);
      LittleEndian(out).U16(kFolder.size() + name.size()).U16(extra_size);
    };
    before += "PK\x03\x04";
    common(before, extra.size());
    before.append(kFolder).append(name).append(extra);

    directory_ += "PK\x01\x02";
    LittleEndian(directory_).U16(large ? 45 : 20);
    common(directory_, large ? 20 : 0);
    LittleEndian(directory_).U16(0).U16(0).U16(0).U32(0).U32(offset);
    directory_.append(kFolder).append(name);
    if (large) LittleEndian(directory_).U16(1).U16(16).U64(size).U64(size);
    ++count_;
  }

  void Finish(std::uint64_t directory_offset) {
    behind = directory_;
    const bool large = directory_offset + directory_.size() >= kUse64Bit;
    if (large) {
      behind += "PK\x06\x06";
      LittleEndian(behind).U64(44).U16(45).U16(45).U32(0).U32(0).U64(count_).U64(count_);
      LittleEndian(behind).U64(directory_.size()).U64(directory_offset);
      behind += "PK\x06\x07";
      LittleEndian(behind).U32(0).U64(directory_offset + directory_.size()).U32(1);
    }
    behind += "PK\x05\x06";
    LittleEndian(behind).U16(0).U16(0).U16(count_).U16(count_).U32(directory_.size());
    LittleEndian(behind).U32(large ? kUse64Bit : directory_offset).U16(0);
  }

  std::string directory_;
  std::uint64_t count_ = 0;
};

}  // namespace

Status WritePtFile(const std::string& path, const TensorView& view, Crc32Function crc32) {
  if (crc32 == nullptr) crc32 = ZipCrc32;
  const auto storage = FindStorage(path, view);
  if (!storage.ok()) return storage.error();
  const std::size_t item = ItemSize(view.dtype);
  std::uint32_t crc = 0;
  if (storage->dense) {
    ForEachBlock(view, [&](const void* data, std::int64_t count) {
      crc = crc32(crc, data, static_cast<std::size_t>(count) * item);
    });
  } else {
    crc = crc32(0, storage->data, storage->bytes);
  }
  ZipLayout zip;
  zip.AddMember("data.pkl", TensorPickle(view, *storage));
  zip.AddMember("byteorder", "little");
  zip.AddMember("version", "3\n");
  zip.AddStorage("data/0", storage->bytes, crc);

  auto file = NewTensorFile::Create(path);
  if (!file.ok()) return file.error();
  Status status;
  if (storage->dense) {
    status = file->Write(zip.before);
    ForEachBlock(view, [&](const void* data, std::int64_t count) {
      if (status.ok()) status = file->Write(AsBytes(data, static_cast<std::size_t>(count) * item));
    });
    if (status.ok()) status = file->Write(zip.behind);
  } else {
    status = file->Write(zip.before, AsBytes(storage->data, storage->bytes), zip.behind);
  }
  return status.ok() ? file->Publish() : status;
}

}  // namespace msprobe
