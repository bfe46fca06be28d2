// The messages of the parent process: settings once, then one case at a time (docs/architecture.md).

#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "record/dump_reader.h"
#include "replay/case.h"
#include "replay/replay_settings.h"

namespace msprobe {
namespace {

constexpr unsigned kFlags =
    rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;

Error Malformed(const std::string& what) {
  return Error{ErrorCode::kInternal, "a message of the parent process is malformed: " + what};
}

// Finds the members of the outermost object without building anything of them: scalars by value, objects by the place
// of their text, which the reader of records then parses.
class CaseScanner : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, CaseScanner> {
 public:
  explicit CaseScanner(const rapidjson::MemoryStream& stream) : stream_(stream) {}

  bool Default() {
    NoteOther();
    return true;
  }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Uint64(std::uint64_t) { return Default(); }
  bool Int64(std::int64_t value) {
    if (depth_ == 1 && key_ == "index") index = value;
    return Default();
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (depth_ == 1 && key_ == "name") name.assign(text, size);
    return Default();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (depth_ == 1) key_.assign(text, size);
    return true;
  }
  bool StartObject() {
    if (++depth_ == 2) begin_ = stream_.Tell();  // the iterative reader stands on the brace in both events
    return true;
  }
  bool EndObject(rapidjson::SizeType) {
    if (--depth_ != 1) return true;
    if (key_ == "forward") forward = {begin_, stream_.Tell() + 1};
    if (key_ == "backward") backward = {begin_, stream_.Tell() + 1};
    return true;
  }
  bool StartArray() {
    NoteOther();
    return ++depth_ > 0;
  }
  bool EndArray(rapidjson::SizeType) { return --depth_ >= 0; }

  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::int64_t index = -1;
  std::string name;
  Range forward;
  Range backward;
  bool forward_is_other = false;  ///< something else than an object stands there

 private:
  void NoteOther() { forward_is_other = forward_is_other || (depth_ == 1 && key_ == "forward"); }

  const rapidjson::MemoryStream& stream_;
  int depth_ = 0;
  std::size_t begin_ = 0;
  std::string key_;
};

std::string TextMember(const rapidjson::Value& object, const char* key) {
  const auto found = object.FindMember(key);
  if (found == object.MemberEnd() || !found->value.IsString()) return {};
  return std::string(found->value.GetString(), found->value.GetStringLength());
}

// A member that is missing is an empty list.
std::vector<std::string> TextsMember(const rapidjson::Value& object, const char* key) {
  std::vector<std::string> texts;
  const auto member = object.FindMember(key);
  if (member == object.MemberEnd() || !member->value.IsArray()) return texts;
  for (const rapidjson::Value& item : member->value.GetArray()) {
    if (item.IsString()) texts.emplace_back(item.GetString(), item.GetStringLength());
  }
  return texts;
}

}  // namespace

Result<CaseRequest> ParseCaseRequest(std::string_view message) {
  rapidjson::MemoryStream stream(message.data(), message.size());
  CaseScanner scanner(stream);
  rapidjson::Reader reader;
  if (reader.Parse<kFlags>(stream, scanner).IsError()) {
    return Malformed("no JSON at byte " + std::to_string(reader.GetErrorOffset()));
  }
  if (scanner.index < 0 || scanner.name.empty() || (scanner.forward.end == 0 && !scanner.forward_is_other)) {
    return Malformed("a case needs \"index\", \"name\" and \"forward\"");
  }
  CaseRequest request;
  request.index = scanner.index;
  request.name = scanner.name;
  if (scanner.forward.end == 0) {
    request.problem = "the record is no JSON object";
    return request;
  }
  const auto text = [message](const CaseScanner::Range& range) {
    return message.substr(range.begin, range.end - range.begin);
  };
  auto forward = ParseRecord(request.name + ".forward", text(scanner.forward));
  if (!forward.ok()) {
    request.problem = forward.error().message;
    return request;
  }
  request.forward = std::move(forward.value());
  if (scanner.backward.end != 0) {
    auto backward = ParseRecord(request.name + ".backward", text(scanner.backward));
    if (!backward.ok()) {
      request.problem = backward.error().message;
      return request;
    }
    request.backward = std::move(backward.value());
  }
  return request;
}

Result<ReplaySettings> ParseReplaySettings(std::string_view message) {
  rapidjson::Document document;
  document.Parse<kFlags>(message.data(), message.size());
  if (document.HasParseError() || !document.IsObject()) return Malformed("the settings are no JSON object");
  ReplaySettings settings;
  if (const auto seed = document.FindMember("seed"); seed != document.MemberEnd() && seed->value.IsUint64()) {
    settings.seed = seed->value.GetUint64();
  }
  if (const auto precision = document.FindMember("precision");
      precision != document.MemberEnd() && precision->value.IsInt()) {
    // More digits than a double holds only repeat its binary expansion; the files stay readable.
    settings.precision = std::clamp(precision->value.GetInt(), 0, 64);
  }
  settings.device_type = TextMember(document, "device_type");
  settings.dump_directory = TextMember(document, "dump_dir");
  if (std::string recorded = TextMember(document, "dump_data_dir"); !recorded.empty()) {
    settings.recorded_data = std::move(recorded);
  }
  settings.error_data_directory = TextMember(document, "error_data_dir");
  auto names = LoadSupportList(Framework::kPyTorch, TextMember(document, "support_list"),
                               TextsMember(document, "support_overlays"));
  if (!names.ok()) return names.error();
  settings.names = std::move(names.value());
  return settings;
}

}  // namespace msprobe
