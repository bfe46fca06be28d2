#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

/// Without leading and trailing ASCII white space.
std::string_view Trim(std::string_view text);

/// ASCII letters in lower case, everything else as it is.
std::string ToLowerAscii(std::string_view text);

std::vector<std::string_view> Split(std::string_view text, char separator);  ///< always at least one piece
std::string Join(const std::vector<std::string>& items, std::string_view separator);

/// The whole text as a number: decimal or scientific notation, an optional sign, "inf", "nan" in any case, blanks
/// around it allowed. Nothing for anything else, hexadecimal and underscores included. Numbers out of range become
/// infinity or zero.
std::optional<double> ParseDouble(std::string_view text);

/// The whole text as a decimal integer with an optional minus sign; no blanks. Nothing if it does not fit.
std::optional<std::int64_t> ParseInteger(std::string_view text);

/// Levenshtein distance in bytes; stops early and returns limit + 1 when it is above `limit`.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit);

/// Nearest known text by edit distance, "" when nothing is near (more than a third of the text's length away). For "did
/// you mean". The first of equally near ones.
std::string Nearest(std::string_view text, const std::vector<std::string>& known);

/// Escapes a text for a message or log line (accuracy_checker.md 1): control characters, their percent forms %08 %0a
/// %0b %0c %0d %7f, line separators, direction marks and bytes that are not UTF-8 become '_'.
std::string Printable(std::string_view text);

/// As Printable, and cut to `limit` bytes with "..." in the middle of what is left out.
std::string Excerpt(std::string_view text, std::size_t limit = 200);

/// Length of the UTF-8 sequence at the start of `text`, 0 if it is not valid (overlong forms and surrogates are not).
std::size_t Utf8SequenceLength(std::string_view text);

}  // namespace msprobe
