#include "config/json_document.h"

#include <rapidjson/error/en.h>

#include <algorithm>

#include "base/csv.h"
#include "base/format.h"
#include "base/text.h"

namespace msprobe {
namespace {

// The iterative parser keeps its stack on the heap: nesting cannot overrun the process's own.
constexpr unsigned kParseFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                                 rapidjson::kParseFullPrecisionFlag | rapidjson::kParseNanAndInfFlag;

std::size_t LastVisibleBefore(std::string_view text, std::size_t offset) {
  return offset == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", offset - 1);
}

// Offset and wording of a syntax error.
std::pair<std::size_t, std::string> Diagnose(std::string_view text, const rapidjson::Document& document) {
  std::size_t offset = std::min(document.GetErrorOffset(), text.size());
  // The parser may stop in front of white space.
  const std::size_t visible = text.find_first_not_of(" \t\r\n", offset);
  const char next = visible == std::string_view::npos ? '\0' : text[visible];
  const std::size_t previous = LastVisibleBefore(text, offset);
  if ((next == '}' || next == ']') && previous != std::string_view::npos && text[previous] == ',') {
    return {previous, fmt::format("the comma before '{}' is not allowed; remove it", next)};
  }
  if (next == '/' || next == '#') return {visible, "comments are not allowed in JSON; remove it"};
  if (next == '\'') return {visible, "JSON wants double quotes"};
  if (visible == std::string_view::npos && document.GetParseError() != rapidjson::kParseErrorDocumentEmpty) {
    return {text.size(), "the text ends too early; the file is cut off"};
  }
  std::string reason = rapidjson::GetParseError_En(document.GetParseError());
  while (reason.ends_with('.')) reason.pop_back();
  return {visible == std::string_view::npos ? offset : visible, reason};
}

}  // namespace

Result<rapidjson::Document> ParseJsonObject(std::string_view text, const std::string& source) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  rapidjson::Document document;
  document.Parse<kParseFlags>(text.data(), text.size());
  if (document.HasParseError()) {
    const auto [offset, reason] = Diagnose(text, document);
    const std::string_view before = text.substr(0, offset);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
    return Error{ErrorCode::kInput,
                 fmt::format("{}: not valid JSON at line {}, column {}: {}", Printable(source), line, column, reason)};
  }
  if (!document.IsObject()) {
    return Error{ErrorCode::kInput,
                 fmt::format("{}: holds {} where an object {{...}} is wanted", Printable(source), Describe(document))};
  }
  return document;
}

std::string Describe(const rapidjson::Value& value) {
  if (value.IsString()) return "\"" + Excerpt({value.GetString(), value.GetStringLength()}, 80) + "\"";
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  if (value.IsNull()) return "null";
  if (value.IsArray()) return "a list";
  if (value.IsObject()) return "an object";
  if (value.IsInt64()) return std::to_string(value.GetInt64());
  if (value.IsUint64()) return std::to_string(value.GetUint64());
  return fmt::format("{}", value.GetDouble());
}

std::string Alternatives(std::span<const std::string_view> allowed) {
  std::string text;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i > 0) text += i + 1 == allowed.size() ? " or " : ", ";
    text += fmt::format("\"{}\"", allowed[i]);
  }
  return text;
}

const rapidjson::Value* JsonSection::Find(std::string_view key) const {
  if (object_ == nullptr) return nullptr;
  const rapidjson::Value* found = nullptr;
  for (const auto& member : object_->GetObject()) {
    if (std::string_view(member.name.GetString(), member.name.GetStringLength()) == key) found = &member.value;
  }
  return found == nullptr || found->IsNull() ? nullptr : found;
}

std::string JsonSection::Place(std::string_view key) const {
  return name_.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}.{}\"", name_, key);
}

Error JsonSection::Bad(std::string_view key, const std::string& problem) const {
  return {ErrorCode::kInput, fmt::format("{}: {} {}", Printable(source_), Place(key), problem)};
}

Result<JsonSection> JsonSection::Section(std::string_view key) const {
  const rapidjson::Value* value = Find(key);
  if (value != nullptr && !value->IsObject()) {
    return Bad(key, fmt::format("is {}; it must be an object {{...}}", Describe(*value)));
  }
  return JsonSection(value, std::string(key), source_);
}

Result<std::string> JsonSection::Text(std::string_view key, std::string_view otherwise) const {
  const rapidjson::Value* value = Find(key);
  if (value == nullptr) return std::string(otherwise);
  if (!value->IsString()) return Bad(key, fmt::format("is {}; it must be a text in quotes", Describe(*value)));
  return std::string(value->GetString(), value->GetStringLength());
}

Result<bool> JsonSection::Boolean(std::string_view key, bool otherwise) const {
  const rapidjson::Value* value = Find(key);
  if (value == nullptr) return otherwise;
  if (!value->IsBool()) return Bad(key, fmt::format("is {}; it must be true or false", Describe(*value)));
  return value->GetBool();
}

Result<std::optional<std::int64_t>> JsonSection::Integer(std::string_view key, std::int64_t minimum,
                                                         std::int64_t maximum) const {
  const rapidjson::Value* value = Find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (!value->IsInt64() || value->GetInt64() < minimum || value->GetInt64() > maximum) {
    return Bad(key, fmt::format("is {}; it must be a whole number from {} to {}", Describe(*value), minimum, maximum));
  }
  return std::optional<std::int64_t>(value->GetInt64());
}

Result<std::vector<std::string>> JsonSection::TextList(std::string_view key) const {
  std::vector<std::string> texts;
  const rapidjson::Value* value = Find(key);
  if (value == nullptr) return texts;
  if (!value->IsArray()) return Bad(key, fmt::format("is {}; it must be a list of texts", Describe(*value)));
  for (const rapidjson::Value& item : value->GetArray()) {
    if (!item.IsString()) {
      return Bad(key, fmt::format("holds {}; every element must be a text in quotes", Describe(item)));
    }
    texts.emplace_back(item.GetString(), item.GetStringLength());
  }
  return texts;
}

Result<std::string> JsonSection::Choice(std::string_view key, std::string_view otherwise,
                                        std::span<const std::string_view> allowed,
                                        std::span<const std::string_view> offered) const {
  Result<std::string> text = Text(key, otherwise);
  if (!text.ok()) return text;
  if (text->empty()) return std::string(otherwise);
  for (const std::string_view choice : allowed) {
    if (*text == choice) return text;
  }
  return Bad(key, fmt::format("is \"{}\"; it must be {}", Excerpt(*text, 80),
                              Alternatives(offered.empty() ? allowed : offered)));
}

std::vector<std::string> JsonSection::Keys() const {
  std::vector<std::string> keys;
  if (object_ == nullptr) return keys;
  for (const auto& member : object_->GetObject()) {
    keys.emplace_back(member.name.GetString(), member.name.GetStringLength());
  }
  return keys;
}

}  // namespace msprobe
