#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "check/case_rows.h"

namespace msprobe {

/// {"name": N, "result": {"forward": F, "backward": B, "message": M}, "details": [[23 cells], ..]} without line breaks:
/// a line of the journal, and (but for the name) what a worker answers.
void AppendRowsJson(std::string& out, const CaseRows& rows);

/// Reads such an object from the members of `text`; "name" may be missing. An error says what is not as expected.
Result<CaseRows> ParseRowsJson(std::string_view text);

}  // namespace msprobe
