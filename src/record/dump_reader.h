#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_handle.h"
#include "base/result.h"
#include "record/element.h"

namespace msprobe {

/// Where the text of one record lies in dump.json: `text` = file[offset, offset + size), the sections object.
struct RecordPosition {
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct DumpIndex {
  DumpHeader header;
  bool has_data = false;                ///< "data" is there and is an object
  std::vector<RecordPosition> records;  ///< complete records in file order
  bool truncated = false;               ///< the text ends or breaks behind the last complete record
  std::string truncation;               ///< what broke and at which byte, when truncated
};

/// Streams through a dump.json of any size in constant memory (but for names), keys in any order, NaN and Infinity
/// accepted, also keys after "data". A file that is not JSON from its first byte on, is empty, or is no object: an
/// error. A torn file gives the complete records and `truncated`.
Result<DumpIndex> IndexDump(const std::string& path);

/// The whole file in order, record by record; `visit` returns false to stop. Returns as IndexDump does.
Result<DumpIndex> ReadDump(const std::string& path, const std::function<bool(Record&&)>& visit);

/// Parses one record's sections object, or one element, from text. Nesting deeper than 400 is an error.
Result<Record> ParseRecord(std::string name, std::string_view text);
Result<Element> ParseElement(std::string_view text);

/// Reads the text of one record (again), for example to hand it to a worker.
class RecordTextReader {
 public:
  static Result<RecordTextReader> Open(const std::string& path);
  Result<std::string> Read(const RecordPosition& position) const;

 private:
  RecordTextReader(FileHandle file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  FileHandle file_;
  std::string path_;
};

}  // namespace msprobe
