#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/zip_crc32.h"

namespace msprobe {

/// Builds ZIP files byte by byte, wrong ones too.
struct ZipBuilder {
  struct Member {
    std::string name;
    std::string content;
    std::uint32_t method = 0;
    std::int64_t size_error = 0;    ///< added to the size in the directory
    std::int64_t offset_error = 0;  ///< added to the offset in the directory
    std::string local_name = {};    ///< instead of `name` in the local header
    bool wide = false;              ///< sizes and offset in the 64-bit extra field
  };

  static void Number(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
  }

  static std::string Build(const std::vector<Member>& members, bool wide_end = false) {
    std::string file;
    std::string directory;
    for (const Member& member : members) {
      const std::uint64_t offset = file.size() + static_cast<std::uint64_t>(member.offset_error);
      const std::uint64_t size = member.content.size() + static_cast<std::uint64_t>(member.size_error);
      const std::uint32_t crc = ZipCrc32(0, member.content.data(), member.content.size());
      const std::string& local_name = member.local_name.empty() ? member.name : member.local_name;
      // As torch writes them: sizes and checksum stand behind the content.
      file += "PK\x03\x04";
      for (const int value : {0, 0x808, static_cast<int>(member.method), 0, 0})
        Number(file, static_cast<std::uint64_t>(value), 2);
      for (int i = 0; i < 3; ++i) Number(file, 0, 4);
      Number(file, local_name.size(), 2);
      Number(file, 0, 2);
      file += local_name + member.content + "PK\x07\x08";
      Number(file, crc, 4);
      Number(file, size, 4);
      Number(file, size, 4);

      directory += "PK\x01\x02";
      for (const int value : {0, 0, 0x808, static_cast<int>(member.method), 0, 0}) {
        Number(directory, static_cast<std::uint64_t>(value), 2);
      }
      Number(directory, crc, 4);
      Number(directory, member.wide ? 0xFFFFFFFFU : size, 4);
      Number(directory, member.wide ? 0xFFFFFFFFU : size, 4);
      Number(directory, member.name.size(), 2);
      Number(directory, member.wide ? 28 : 0, 2);
      for (int i = 0; i < 3; ++i) Number(directory, 0, 2);
      Number(directory, 0, 4);
      Number(directory, member.wide ? 0xFFFFFFFFU : offset, 4);
      directory += member.name;
      if (member.wide) {
        Number(directory, 1, 2);
        Number(directory, 24, 2);
        for (const std::uint64_t value : {size, size, offset}) Number(directory, value, 8);
      }
    }
    const std::uint64_t start = file.size();
    file += directory;
    if (wide_end) {
      const std::uint64_t end = file.size();
      file += "PK\x06\x06";
      Number(file, 44, 8);
      Number(file, 0, 4);
      Number(file, 0, 8);
      for (const std::uint64_t value : {members.size(), members.size(), directory.size(), start})
        Number(file, value, 8);
      file += "PK\x06\x07";
      Number(file, 0, 4);
      Number(file, end, 8);
      Number(file, 1, 4);
    }
    file += "PK\x05\x06";
    Number(file, 0, 4);
    for (int i = 0; i < 2; ++i) Number(file, wide_end ? 0xFFFFU : members.size(), 2);
    Number(file, wide_end ? 0xFFFFFFFFU : directory.size(), 4);
    Number(file, wide_end ? 0xFFFFFFFFU : start, 4);
    Number(file, 0, 2);
    return file;
  }
};

}  // namespace msprobe
