#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace msprobe {

/// "512M", "8G", "1.5 GiB", "4096": binary units, a plain number is bytes. Nothing for anything else or zero.
std::optional<std::uint64_t> ParseSize(std::string_view text);

/// "8.0 GiB".
std::string SizeText(std::uint64_t bytes);

}  // namespace msprobe
