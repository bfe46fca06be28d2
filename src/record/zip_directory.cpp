#include "record/zip_directory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::uint64_t kMaxMembers = 1000;
constexpr std::uint64_t kMaxDirectoryBytes = 1U << 20U;
constexpr std::uint64_t kUse64Bit = 0xFFFFFFFFU;
constexpr std::uint64_t kUse64BitCount = 0xFFFFU;

constexpr std::uint64_t kLocalHeaderBytes = 30;
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kLocatorBytes = 20;

constexpr std::string_view kEntrySignature = "PK\x01\x02";
constexpr std::string_view kLocalSignature = "PK\x03\x04";
constexpr std::string_view kEndSignature = "PK\x05\x06";
constexpr std::string_view kEnd64Signature = "PK\x06\x06";
constexpr std::string_view kLocatorSignature = "PK\x06\x07";

/// Little-endian number of `bytes` bytes at `offset` of a text that is known to be long enough.
std::uint64_t Number(std::string_view text, std::uint64_t offset, int bytes) {
  std::uint64_t value = 0;
  for (int i = bytes; i-- > 0;) {
    value = (value << 8U) | static_cast<unsigned char>(text[offset + static_cast<std::uint64_t>(i)]);
  }
  return value;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

struct Entry {
  ZipMember member;
  std::uint64_t header_offset = 0;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(const TensorFileInput& input) : input_(input), file_size_(input.size()) {}

  Result<std::vector<ZipMember>> Run() {
    auto directory = FindDirectory();
    if (!directory.ok()) return directory.error();
    directory_ = *directory;
    auto entries = ReadEntries();
    if (!entries.ok()) return entries.error();
    std::vector<ZipMember> members;
    for (Entry& entry : *entries) {
      if (Status located = LocateContent(entry); !located.ok()) return located.error();
      members.push_back(std::move(entry.member));
    }
    if (Status apart = CheckApart(*entries, members); !apart.ok()) return apart.error();
    return members;
  }

 private:
  Error Wrong(std::string_view what) const { return input_.Wrong(what); }

  Status Read(std::uint64_t offset, std::string& out, std::uint64_t size) const {
    out.resize(size);
    return input_.Read(offset, out.data(), size);
  }

  Result<Directory> FindDirectory() const {
    // The end record stands at the very end, or before a comment of up to 64 KiB.
    std::string tail;
    const std::uint64_t tail_size = std::min<std::uint64_t>(file_size_, kEndBytes + 0xFFFFU);
    const std::uint64_t tail_offset = file_size_ - tail_size;
    if (Status read = Read(tail_offset, tail, tail_size); !read.ok()) return read.error();
    std::size_t at = tail.size();
    do {
      at = at == 0 ? std::string::npos : tail.rfind(kEndSignature, at - 1);
      if (at == std::string::npos) return Wrong("it is not a ZIP file, or it is cut short");
    } while (tail.size() - at < kEndBytes || Number(tail, at + 20, 2) != tail.size() - at - kEndBytes);

    const std::string_view end = std::string_view(tail).substr(at, kEndBytes);
    Directory directory{Number(end, 16, 4), Number(end, 12, 4), Number(end, 10, 2)};
    std::uint64_t end_offset = tail_offset + at;
    if (directory.offset == kUse64Bit || directory.size == kUse64Bit || directory.count == kUse64BitCount) {
      std::string locator;
      if (end_offset < kLocatorBytes) return Wrong("its ZIP directory is damaged");
      if (Status read = Read(end_offset - kLocatorBytes, locator, kLocatorBytes); !read.ok()) return read.error();
      const std::uint64_t offset = Number(locator, 8, 8);
      if (!locator.starts_with(kLocatorSignature) || file_size_ < kEnd64Bytes || offset > file_size_ - kEnd64Bytes) {
        return Wrong("its 64-bit ZIP directory is damaged");
      }
      std::string end64;
      if (Status read = Read(offset, end64, kEnd64Bytes); !read.ok()) return read.error();
      if (!end64.starts_with(kEnd64Signature)) return Wrong("its 64-bit ZIP directory is damaged");
      directory = {Number(end64, 48, 8), Number(end64, 40, 8), Number(end64, 32, 8)};
      end_offset = offset;
    }
    if (directory.offset > end_offset || directory.size > end_offset - directory.offset) {
      return Wrong("its ZIP directory lies outside the file");
    }
    if (directory.count > kMaxMembers || directory.size > kMaxDirectoryBytes) {
      return Wrong("its ZIP directory is far larger than that of one tensor");
    }
    return directory;
  }

  Result<std::vector<Entry>> ReadEntries() const {
    std::string text;
    if (Status read = Read(directory_.offset, text, directory_.size); !read.ok()) return read.error();
    std::vector<Entry> entries;
    std::string_view rest = text;
    for (std::uint64_t i = 0; i < directory_.count; ++i) {
      if (rest.size() < kEntryBytes || !rest.starts_with(kEntrySignature)) return Wrong("its ZIP directory is damaged");
      const std::uint64_t name_size = Number(rest, 28, 2);
      const std::uint64_t extra_size = Number(rest, 30, 2);
      const std::uint64_t entry_size = kEntryBytes + name_size + extra_size + Number(rest, 32, 2);
      if (rest.size() < entry_size) return Wrong("its ZIP directory is damaged");
      Entry entry;
      entry.member.name = rest.substr(kEntryBytes, name_size);
      entry.member.crc = static_cast<std::uint32_t>(Number(rest, 16, 4));
      entry.member.size = Number(rest, 24, 4);
      entry.header_offset = Number(rest, 42, 4);
      std::uint64_t stored_size = Number(rest, 20, 4);
      if (!Apply64BitSizes(rest.substr(kEntryBytes + name_size, extra_size), entry, stored_size)) {
        return Wrong("its ZIP directory is damaged");
      }
      if ((Number(rest, 8, 2) & 1U) != 0) return Wrong("a member of it is encrypted");
      if (Number(rest, 10, 2) != 0 || stored_size != entry.member.size) {
        return Wrong("member " + Excerpt(entry.member.name) + " is compressed; torch.save stores its members");
      }
      entries.push_back(std::move(entry));
      rest.remove_prefix(entry_size);
    }
    return entries;
  }

  /// Takes the values that did not fit 32 bits from the extra field 1, in the order that the format prescribes.
  static bool Apply64BitSizes(std::string_view extra, Entry& entry, std::uint64_t& stored_size) {
    const std::array<std::uint64_t*, 3> values = {&entry.member.size, &stored_size, &entry.header_offset};
    if (std::none_of(values.begin(), values.end(), [](const std::uint64_t* value) { return *value == kUse64Bit; })) {
      return true;
    }
    while (extra.size() >= 4) {
      const std::uint64_t size = Number(extra, 2, 2);
      if (size > extra.size() - 4) return false;
      std::string_view field = extra.substr(4, size);
      if (Number(extra, 0, 2) == 1) {
        for (std::uint64_t* value : values) {
          if (*value != kUse64Bit) continue;
          if (field.size() < 8) return false;
          *value = Number(field, 0, 8);
          field.remove_prefix(8);
        }
        return true;
      }
      extra.remove_prefix(4 + size);
    }
    return false;
  }

  /// Finds where a member's bytes start, behind its local header, and that they end before the directory.
  Status LocateContent(Entry& entry) const {
    const std::uint64_t limit = directory_.offset;
    std::string header;
    if (limit < kLocalHeaderBytes || entry.header_offset > limit - kLocalHeaderBytes) {
      return Wrong("member " + Excerpt(entry.member.name) + " lies outside the file");
    }
    if (Status read = Read(entry.header_offset, header, kLocalHeaderBytes); !read.ok()) return read;
    const auto disagrees = [&] {
      return Wrong("the header of member " + Excerpt(entry.member.name) + " does not agree with the directory");
    };
    if (!header.starts_with(kLocalSignature)) return disagrees();
    const std::uint64_t name_size = Number(header, 26, 2);
    entry.member.offset = entry.header_offset + kLocalHeaderBytes + name_size + Number(header, 28, 2);
    if (entry.member.offset > limit || entry.member.size > limit - entry.member.offset) {
      return Wrong("member " + Excerpt(entry.member.name) + " lies outside the file");
    }
    std::string name;
    if (Status read = Read(entry.header_offset + kLocalHeaderBytes, name, name_size); !read.ok()) return read;
    if (name != entry.member.name) return disagrees();
    return {};
  }

  Status CheckApart(const std::vector<Entry>& entries, const std::vector<ZipMember>& members) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      ranges.emplace_back(entries[i].header_offset, members[i].offset + members[i].size);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].first < ranges[i - 1].second) return Wrong("members of it overlap");
    }
    return {};
  }

  const TensorFileInput& input_;
  const std::uint64_t file_size_;
  Directory directory_;
};

}  // namespace

Result<std::vector<ZipMember>> ReadZipDirectory(const TensorFileInput& input) { return DirectoryReader(input).Run(); }

}  // namespace msprobe
