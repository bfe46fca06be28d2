#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace msprobe {

/// Parses a JSON text whose root is an object. An error names `source`, line and column; the usual slips (comma before
/// a bracket, comment) are named as such. Depth is no danger: the parser does not recurse.
Result<rapidjson::Document> ParseJsonObject(std::string_view text, const std::string& source);

/// A JSON value in a message: scalars as they stand (shortened), "a list", "an object".
std::string Describe(const rapidjson::Value& value);

/// One object of a configuration file with checked access. A missing key and one with the value null are the same
/// (config.md 1.9); of a repeated key the last counts. Every error names file, key, value and what is allowed.
class JsonSection {
 public:
  /// `object` null: an empty section. `name` empty: the root. The object must outlive the section.
  JsonSection(const rapidjson::Value* object, std::string name, std::string source)
      : object_(object), name_(std::move(name)), source_(std::move(source)) {}

  /// The section below `key`; empty if missing or null.
  Result<JsonSection> Section(std::string_view key) const;

  const rapidjson::Value* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  Result<std::string> Text(std::string_view key, std::string_view otherwise) const;
  Result<bool> Boolean(std::string_view key, bool otherwise) const;
  Result<std::optional<std::int64_t>> Integer(std::string_view key, std::int64_t minimum, std::int64_t maximum) const;
  Result<std::vector<std::string>> TextList(std::string_view key) const;

  /// One of `allowed`, of which an error names those that are `offered` (all, if none are); "" counts as missing
  /// (config.md 2.2).
  Result<std::string> Choice(std::string_view key, std::string_view otherwise,
                             std::span<const std::string_view> allowed,
                             std::span<const std::string_view> offered = {}) const;

  std::vector<std::string> Keys() const;

  /// `<file>: "section.key" <problem>`.
  Error Bad(std::string_view key, const std::string& problem) const;
  std::string Place(std::string_view key) const;
  const std::string& source() const { return source_; }

 private:
  const rapidjson::Value* object_;
  std::string name_;
  std::string source_;
};

/// `"a", "b" or "c"`.
std::string Alternatives(std::span<const std::string_view> allowed);

}  // namespace msprobe
