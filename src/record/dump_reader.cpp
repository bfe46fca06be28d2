#include "record/dump_reader.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "record/element_parser.h"
#include "record/json_file_scanner.h"

namespace msprobe {
namespace {

/// Header values are short; a longer one is passed over.
constexpr std::uint64_t kMaxHeaderValueBytes = 16U << 20U;

/// As long as a frame of the worker protocol may be.
constexpr std::uint64_t kMaxRecordBytes = 1U << 30U;

/// One pass over a dump.json: the envelope (dump_format.md 2) in any order, and the members of "data".
class DumpPass {
 public:
  using Visit = std::function<bool(Record&&)>;

  /// Without `visit`, only names and positions are taken.
  DumpPass(const std::string& path, JsonFileScanner scanner, const Visit* visit)
      : path_(path), scanner_(std::move(scanner)), visit_(visit) {}

  Result<DumpIndex> Run() {
    const int first = scanner_.PeekToken();
    if (!scanner_.status().ok()) return scanner_.status().error();
    if (first == -1) return InputError("is empty");
    if (first != '{') return InputError("is not a JSON object; a dump.json is expected");
    const bool complete = Envelope() && scanner_.AtEnd();
    if (!scanner_.status().ok()) return scanner_.status().error();
    if (error_.has_value()) return *error_;
    if (!complete && !stopped_) {
      index_.truncated = true;
      index_.truncation = scanner_.problem();
    }
    return std::move(index_);
  }

 private:
  Error InputError(const std::string& what) const { return {ErrorCode::kInput, Printable(path_) + " " + what}; }

  bool Envelope() {
    return scanner_.ForEachMember([this](std::string& key) {
      if (key != "data") return HeaderMember(key);
      if (scanner_.PeekToken() != '{') return scanner_.SkipValue();
      index_.has_data = true;
      return scanner_.ForEachMember([this](std::string& name) { return DataMember(name); });
    });
  }

  bool HeaderMember(std::string& key) {
    std::string_view text;
    if (!scanner_.ReadValue(kMaxHeaderValueBytes, text)) return false;
    if (text.data() == nullptr) return true;
    auto value = parser_.ParseElement(text);
    if (!value.ok()) return scanner_.Fail(value.error().message + " of the value of " + Excerpt(key) + " that ends");
    DumpHeader& header = index_.header;
    auto* string = std::get_if<std::string>(&value->value);
    if (key == "dump_data_dir") {
      header.has_dump_data_dir = true;
      if (string != nullptr) header.dump_data_dir = std::move(*string);
      if (string != nullptr || value->is_null()) return true;
    } else if (string != nullptr) {
      std::string* known = key == "task" ? &header.task : key == "level" ? &header.level : nullptr;
      if (key == "framework") known = &header.framework;
      if (known != nullptr) {
        *known = std::move(*string);
        return true;
      }
    }
    header.extra.push_back({std::move(key), std::move(*value)});
    return true;
  }

  bool DataMember(std::string& name) {
    scanner_.PeekToken();
    RecordPosition position;
    position.offset = scanner_.offset();
    std::string_view text;
    if (!(visit_ == nullptr ? scanner_.SkipValue() : scanner_.ReadValue(kMaxRecordBytes, text))) return false;
    position.size = scanner_.offset() - position.offset;
    position.name = std::move(name);
    index_.records.push_back(std::move(position));
    return visit_ == nullptr || VisitRecord(index_.records.back(), text);
  }

  bool VisitRecord(const RecordPosition& position, std::string_view text) {
    if (text.data() == nullptr) {
      error_ = InputError("holds a record longer than 1 GiB: " + Excerpt(position.name));
      return false;
    }
    auto record = parser_.ParseRecord(position.name, text);
    if (!record.ok()) {
      error_ = InputError("cannot be used: " + record.error().message + " of the value that starts at byte " +
                          std::to_string(position.offset));
      return false;
    }
    stopped_ = !(*visit_)(std::move(*record));
    return !stopped_;
  }

  const std::string& path_;
  JsonFileScanner scanner_;
  const Visit* visit_;
  ElementParser parser_;
  DumpIndex index_;
  std::optional<Error> error_;
  bool stopped_ = false;
};

Result<DumpIndex> Run(const std::string& path, const DumpPass::Visit* visit) {
  auto scanner = JsonFileScanner::Open(path);
  if (!scanner.ok()) return scanner.error();
  return DumpPass(path, std::move(*scanner), visit).Run();
}

}  // namespace

Result<DumpIndex> IndexDump(const std::string& path) { return Run(path, nullptr); }

Result<DumpIndex> ReadDump(const std::string& path, const std::function<bool(Record&&)>& visit) {
  return Run(path, &visit);
}

Result<Record> ParseRecord(std::string name, std::string_view text) {
  return ElementParser().ParseRecord(std::move(name), text);
}

Result<Element> ParseElement(std::string_view text) { return ElementParser().ParseElement(text); }

Result<RecordTextReader> RecordTextReader::Open(const std::string& path) {
  auto file = OpenInputFile(path);
  if (!file.ok()) return file.error();
  return RecordTextReader(std::move(*file), path);
}

Result<std::string> RecordTextReader::Read(const RecordPosition& position) const {
  if (position.size > kMaxRecordBytes) {
    return Error{ErrorCode::kInput,
                 "record " + Excerpt(position.name) + " is longer than 1 GiB in " + Printable(path_)};
  }
  std::string text(position.size, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t size =
        ::pread(file_.get(), text.data() + done, text.size() - done, static_cast<off_t>(position.offset + done));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return SystemError(ErrorCode::kInput, "read", path_, errno);
    if (size == 0) {
      return Error{ErrorCode::kInput, Printable(path_) + " has become shorter while it was read: record " +
                                          Excerpt(position.name) + " is cut"};
    }
    done += static_cast<std::size_t>(size);
  }
  return text;
}

}  // namespace msprobe
