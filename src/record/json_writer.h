#pragma once

#include <string>
#include <string_view>

#include "record/element.h"

namespace msprobe {

/// Elements nested deeper than this are written as null and refused by the reader, so that nothing overruns the stack.
inline constexpr int kMaxElementDepth = 400;

/// Appends JSON text to `out`, never with line breaks. Doubles in the shortest form that reads back equal, always with
/// '.' or exponent, as Python's repr prints them; non-finite numbers as the bare tokens NaN, Infinity, -Infinity;
/// non-ASCII and control characters escaped (\uXXXX; bytes that are not UTF-8 become U+FFFD).
void AppendJsonString(std::string& out, std::string_view text);
void AppendJsonDouble(std::string& out, double value);
void AppendJsonStatistic(std::string& out, const StatisticValue& value);
void AppendJson(std::string& out, const Element& element);
void AppendJson(std::string& out, const TensorElement& tensor);  ///< key order of dump_format.md 5.1
/// The sections object of a record: `{"input_args": [...], ...}` without the name.
void AppendJson(std::string& out, const Record& record);

}  // namespace msprobe
