#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/json_document.h"

namespace msprobe {

enum class Order : std::uint8_t { kSorted, kAsGiven };

/// `rank` or `step` (config.md 2.3): a list of whole numbers from 0 to 1,000,000, the same in quotes ("3"), or
/// inclusive ranges in quotes ("4-6"). Without repetitions. A missing key is the empty list.
Result<std::vector<std::int64_t>> ReadNumberList(const JsonSection& section, std::string_view key,
                                                 Order order = Order::kSorted);

/// The constructor's `step`: each element is the JSON text of one such element.
Result<std::vector<std::int64_t>> ParseNumberList(const std::vector<std::string>& elements, const std::string& name,
                                                  Order order = Order::kSorted);

}  // namespace msprobe
