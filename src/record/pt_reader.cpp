#include <algorithm>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "record/tensor_extent.h"
#include "record/tensor_file.h"
#include "record/tensor_file_input.h"
#include "record/tensor_pickle.h"
#include "record/zip_crc32.h"
#include "record/zip_directory.h"

namespace msprobe {
namespace {

constexpr std::string_view kPickleName = "/data.pkl";

/// The pickle of one tensor has a few hundred bytes.
constexpr std::uint64_t kMaxPickleBytes = 64U << 10U;

const ZipMember* Find(const std::vector<ZipMember>& members, std::string_view name) {
  const auto found = std::find_if(members.begin(), members.end(), [name](const auto& m) { return m.name == name; });
  return found == members.end() ? nullptr : &*found;
}

/// Reads a member into `out`, whose size is the member's, and checks it against its CRC-32 where there is one. Piece by
/// piece, so that the checksum finds the bytes in the cache.
Status ReadMember(const TensorFileInput& input, const ZipMember& member, void* out, Crc32Function crc32) {
  constexpr std::uint64_t kPiece = 1U << 20U;
  auto* bytes = static_cast<std::byte*>(out);
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < member.size; done += kPiece) {
    const std::uint64_t size = std::min(kPiece, member.size - done);
    if (Status read = input.Read(member.offset + done, bytes + done, size); !read.ok()) return read;
    if (member.crc != 0) crc = crc32(crc, bytes + done, size);
  }
  if (crc != member.crc) return input.Wrong("its bytes do not agree with their checksum; it is damaged");
  return {};
}

Status ReadText(const TensorFileInput& input, const ZipMember& member, std::string& out, Crc32Function crc32) {
  if (member.size > kMaxPickleBytes) return input.Wrong("its pickle is far larger than that of one tensor");
  out.resize(member.size);
  return ReadMember(input, member, out.data(), crc32);
}

/// Whether every element that the strides reach lies in the storage.
bool FitsStorage(const PickledTensor& tensor) {
  const std::size_t item = ItemSize(tensor.dtype);
  const auto negative = [](std::int64_t stride) { return stride < 0; };
  const auto extent = ComputeExtent(tensor.shape, tensor.strides, item);
  if (!extent.has_value() || tensor.storage_offset < 0) return false;
  if (std::any_of(tensor.strides.begin(), tensor.strides.end(), negative)) return false;
  if (extent->count == 0) return true;
  const auto elements = static_cast<std::int64_t>(tensor.storage_bytes / item);
  return tensor.storage_offset < elements && extent->highest < elements - tensor.storage_offset;
}

}  // namespace

Result<LoadedTensor> ReadPtFile(const std::string& path, Crc32Function crc32) {
  if (crc32 == nullptr) crc32 = ZipCrc32;
  const auto input = TensorFileInput::Open(path);
  if (!input.ok()) return input.error();
  const auto members = ReadZipDirectory(*input);
  if (!members.ok()) return members.error();

  // All members share a first path component, whatever it is called.
  std::string folder;
  for (const ZipMember& member : *members) {
    const std::size_t slash = member.name.find('/');
    if (slash != std::string::npos && member.name.substr(slash) == kPickleName) folder = member.name.substr(0, slash);
  }
  const ZipMember* pickle_member = folder.empty() ? nullptr : Find(*members, folder + std::string(kPickleName));
  if (pickle_member == nullptr) return input->Wrong("it has no member data.pkl; a file of torch.save is expected");
  std::string text;
  if (const ZipMember* order = Find(*members, folder + "/byteorder"); order != nullptr) {
    if (Status read = ReadText(*input, *order, text, crc32); !read.ok()) return read.error();
    if (text != "little") return input->Wrong("it was written on a big-endian machine");
  }
  if (Status read = ReadText(*input, *pickle_member, text, crc32); !read.ok()) return read.error();
  auto tensor = ParseTensorPickle(text);
  if (!tensor.ok()) return input->Wrong(tensor.error().message);

  const ZipMember* storage = Find(*members, folder + "/data/" + tensor->storage_key);
  if (storage == nullptr) return input->Wrong("the member with the tensor's storage is missing");
  if (storage->size != tensor->storage_bytes) return input->Wrong("its storage has not the size that its pickle gives");
  if (!FitsStorage(*tensor)) return input->Wrong("its shape and strides reach beyond its storage");

  LoadedTensor loaded;
  try {
    loaded.bytes.resize(storage->size);
  } catch (const std::exception&) {
    return input->Wrong("there is not enough memory for its storage");
  }
  if (Status read = ReadMember(*input, *storage, loaded.bytes.data(), crc32); !read.ok()) return read.error();
  loaded.dtype = tensor->dtype;
  loaded.shape = std::move(tensor->shape);
  loaded.strides = std::move(tensor->strides);
  loaded.storage_offset = tensor->storage_offset;
  return loaded;
}

}  // namespace msprobe
