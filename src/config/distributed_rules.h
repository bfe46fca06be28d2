#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace msprobe {

/// Whether the API of torch.distributed `name` ("all_reduce") answers in its arguments: its `output` in the record is
/// the positional arguments followed by the keyword values, after the call (pytorch_dump.md 7.1).
bool AnswersInArguments(std::string_view name);

}  // namespace msprobe
