#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace msprobe {

/// The parts of an API's full name `T.a.n`; the name may itself hold dots ("linalg.norm").
struct ApiName {
  std::string type;    ///< "Functional", "Tensor", "Torch", "NPU", ...
  std::string name;    ///< everything between the first and the last segment
  std::string number;  ///< decimal call number
};

/// Splits a full name by position: first = type, last = number, between = name (fault kind B80: any length of at least
/// three). Nothing where a segment is empty or the last one is no number.
std::optional<ApiName> ParseApiName(std::string_view full_name);

enum class RecordKind : std::uint8_t { kForward, kBackward, kIgnored, kUnknown };

/// What a key of "data" stands for, told from its first and last segment only, never by a substring (fault kind B79):
/// modules, cells and parameter gradients are ignored.
struct RecordName {
  RecordKind kind = RecordKind::kUnknown;
  std::string_view full_name;  ///< without the direction; only for kForward and kBackward
};
RecordName ParseRecordName(std::string_view key);

}  // namespace msprobe
