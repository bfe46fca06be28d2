#include "check/rows_json.h"

#include <rapidjson/document.h>

#include "record/json_writer.h"

namespace msprobe {
namespace {

Error Malformed(const char* what) {
  return Error{ErrorCode::kInput, std::string("the rows of an API are malformed: ") + what};
}

bool ReadText(const rapidjson::Value& object, const char* key, std::string& out) {
  const auto found = object.FindMember(key);
  if (found == object.MemberEnd() || !found->value.IsString()) return false;
  out.assign(found->value.GetString(), found->value.GetStringLength());
  return true;
}

bool IsStatus(std::string_view status) {
  return status == "pass" || status == "warning" || status == "error" || status == "SKIP";
}

}  // namespace

void AppendRowsJson(std::string& out, const CaseRows& rows) {
  const auto text = [&out](const char* key, const std::string& value) {
    out += key;
    AppendJsonString(out, value);
  };
  text("{\"name\": ", rows.name);
  text(", \"result\": {\"forward\": ", rows.forward);
  text(", \"backward\": ", rows.backward);
  text(", \"message\": ", rows.message);
  out += "}, \"details\": [";
  for (std::size_t r = 0; r < rows.details.size(); ++r) {
    out += r == 0 ? "[" : ", [";
    for (std::size_t c = 0; c < rows.details[r].size(); ++c) text(c == 0 ? "" : ", ", rows.details[r][c]);
    out += ']';
  }
  out += "]}";
}

Result<CaseRows> ParseRowsJson(std::string_view text) {
  rapidjson::Document document;
  // Iterative: deep nesting in a damaged journal must not overrun the stack.
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) return Malformed("not a JSON object");
  CaseRows rows;
  ReadText(document, "name", rows.name);
  const auto result = document.FindMember("result");
  if (result == document.MemberEnd() || !result->value.IsObject()) return Malformed("\"result\" is missing");
  if (!ReadText(result->value, "forward", rows.forward) || !IsStatus(rows.forward)) {
    return Malformed("\"forward\" is no status");
  }
  if (!ReadText(result->value, "backward", rows.backward) || !(rows.backward == " " || IsStatus(rows.backward))) {
    return Malformed("\"backward\" is no status");
  }
  if (!ReadText(result->value, "message", rows.message)) return Malformed("\"message\" is missing");
  const auto details = document.FindMember("details");
  if (details == document.MemberEnd() || !details->value.IsArray()) return Malformed("\"details\" is missing");
  for (const auto& item : details->value.GetArray()) {
    if (!item.IsArray() || item.Size() != kDetailsColumns) return Malformed("a details row has not 23 cells");
    std::vector<std::string> row;
    for (const auto& cell : item.GetArray()) {
      if (!cell.IsString()) return Malformed("a cell is no text");
      row.emplace_back(cell.GetString(), cell.GetStringLength());
    }
    rows.details.push_back(std::move(row));
  }
  return rows;
}

}  // namespace msprobe
