#include "cli/worker_protocol.h"

#include <rapidjson/document.h>

#include "base/text.h"
#include "check/rows_json.h"
#include "record/json_writer.h"

namespace msprobe {
namespace {

/// Builds one JSON object member by member.
class ObjectText {
 public:
  ObjectText& Text(const char* key, std::string_view value) {
    Key(key);
    AppendJsonString(text_, value);
    return *this;
  }
  ObjectText& Raw(const char* key, std::string_view json) {
    Key(key);
    text_ += json;
    return *this;
  }
  template <typename List, typename AppendItem>
  ObjectText& Array(const char* key, const List& items, AppendItem append) {
    Key(key);
    text_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text_ += ", ";
      append(text_, items[i]);
    }
    text_ += ']';
    return *this;
  }
  std::string Finish() { return std::move(text_) + "}"; }

 private:
  void Key(const char* key) {
    text_ += text_.empty() ? "{\"" : ", \"";
    text_ += key;
    text_ += "\": ";
  }
  std::string text_;
};

const char* Bool(bool value) { return value ? "true" : "false"; }

/// Reads members of a JSON object and remembers whether all that were asked for were there.
class Reader {
 public:
  explicit Reader(const rapidjson::Value& object) : object_(object) {}

  std::string Text(const char* key) {
    const rapidjson::Value* value = Find(key);
    if (value == nullptr || !value->IsString()) return Fail<std::string>(key);
    return {value->GetString(), value->GetStringLength()};
  }
  std::uint64_t Unsigned(const char* key) {
    const rapidjson::Value* value = Find(key);
    return value != nullptr && value->IsUint64() ? value->GetUint64() : Fail<std::uint64_t>(key);
  }
  std::int64_t Integer(const char* key) {
    const rapidjson::Value* value = Find(key);
    return value != nullptr && value->IsInt64() ? value->GetInt64() : Fail<std::int64_t>(key);
  }
  bool Flag(const char* key) {
    const rapidjson::Value* value = Find(key);
    return value != nullptr && value->IsBool() ? value->GetBool() : Fail<bool>(key);
  }
  /// 0 where the member is null or missing.
  int IntegerOrNull(const char* key) {
    const rapidjson::Value* value = Find(key);
    return value != nullptr && value->IsInt() ? value->GetInt() : 0;
  }
  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> texts;
    const rapidjson::Value* value = Find(key);
    if (value == nullptr || !value->IsArray()) return texts;
    for (const auto& item : value->GetArray()) {
      if (item.IsString()) texts.emplace_back(item.GetString(), item.GetStringLength());
    }
    return texts;
  }
  const std::string& missing() const { return missing_; }

 private:
  const rapidjson::Value* Find(const char* key) const {
    const auto found = object_.FindMember(key);
    return found == object_.MemberEnd() ? nullptr : &found->value;
  }
  template <typename T>
  T Fail(const char* key) {
    if (missing_.empty()) missing_ = key;
    return T{};
  }

  const rapidjson::Value& object_;
  std::string missing_;
};

Error BadMessage(std::string_view text) {
  return Error{ErrorCode::kInternal, "the Python process sent something unexpected: " + Excerpt(text, 120)};
}

/// Parses a frame; `type` gets its kind. False when it is no JSON object with a "type".
bool ParseFrame(std::string_view text, rapidjson::Document& document, std::string& type) {
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag>(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) return false;
  type = Reader(document).Text("type");
  return !type.empty();
}

}  // namespace

std::string SettingsMessage(const WorkerSettings& settings) {
  const auto text = [](std::string& out, const std::string& item) { AppendJsonString(out, item); };
  const auto number = [](std::string& out, std::int64_t item) { out += std::to_string(item); };
  ObjectText message;
  message.Text("type", "settings")
      .Text("device_type", settings.device_type)
      .Array("device_ids", settings.device_ids, number)
      .Array("imports", settings.imports, text)
      .Raw("jit_compile", Bool(settings.jit_compile))
      .Raw("seed", std::to_string(settings.seed))
      .Raw("precision", std::to_string(settings.precision))
      .Text("dump_dir", settings.dump_dir);
  if (settings.dump_data_dir) {
    message.Text("dump_data_dir", *settings.dump_data_dir);
  } else {
    message.Raw("dump_data_dir", "null");
  }
  return message.Text("error_data_dir", settings.error_data_dir)
      .Text("support_list", settings.support_list)
      .Array("support_overlays", settings.support_overlays, text)
      .Finish();
}

std::string SpawnMessage(std::uint64_t worker, std::int64_t device_id) {
  return ObjectText()
      .Text("type", "spawn")
      .Raw("worker", std::to_string(worker))
      .Raw("device_id", std::to_string(device_id))
      .Finish();
}

std::string CaseMessage(std::uint64_t index, const std::string& name, std::string_view forward,
                        std::string_view backward) {
  return ObjectText()
      .Text("type", "case")
      .Raw("index", std::to_string(index))
      .Text("name", name)
      .Raw("forward", forward)
      .Raw("backward", backward.empty() ? "null" : backward)
      .Finish();
}

Result<SpawnerMessage> ParseSpawnerMessage(std::string_view text) {
  rapidjson::Document document;
  std::string type;
  if (!ParseFrame(text, document, type)) return BadMessage(text);
  Reader reader(document);
  SpawnerMessage message;
  if (type == "hello") {
    SpawnerHello hello;
    hello.device_type = reader.Text("device_type");
    hello.device_count = reader.Integer("device_count");
    hello.device_name = reader.Text("device_name");
    hello.framework_version = reader.Text("torch");
    hello.is_accelerator = reader.Flag("is_accelerator");
    hello.warnings = reader.Texts("warnings");
    message = std::move(hello);
  } else if (type == "failed") {
    message = SpawnerFailed{reader.Text("code"), reader.Text("message")};
  } else if (type == "spawned") {
    message = WorkerSpawned{reader.Unsigned("worker"), reader.Integer("pid")};
  } else if (type == "exited") {
    message = WorkerExited{reader.Unsigned("worker"), reader.IntegerOrNull("signal"), reader.IntegerOrNull("status")};
  } else {
    return BadMessage(text);
  }
  if (!reader.missing().empty()) return BadMessage(text);
  return message;
}

Result<WorkerMessage> ParseWorkerMessage(std::string_view text) {
  rapidjson::Document document;
  std::string type;
  if (!ParseFrame(text, document, type)) return BadMessage(text);
  Reader reader(document);
  WorkerMessage message;
  message.is_ready = type == "ready";
  if (message.is_ready) return message;
  if (type != "rows") return BadMessage(text);
  message.index = reader.Unsigned("index");
  if (!reader.missing().empty()) return BadMessage(text);
  auto rows = ParseRowsJson(text);
  if (!rows) return rows.error();
  message.rows = std::move(*rows);
  return message;
}

}  // namespace msprobe
