#pragma once

#include <cstdint>
#include <string_view>

namespace msprobe {

/// Which APIs are recorded by how likely they are to lose precision (config.md 2.5). Modules are always recorded.
enum class RiskLevel : std::uint8_t {
  kAll,    ///< every API of the support list
  kFocus,  ///< all but those that only shape, copy or create tensors
  kCore,   ///< matrix products, convolutions, normalisations, embeddings, attention; everything of NPU, MindSpeed and
           ///< Distributed
};

/// "ALL", "FOCUS", "CORE"; anything else is kAll.
RiskLevel ParseRiskLevel(std::string_view text);

/// Whether an API is recorded. `group`: "Functional"; `api`: "relu", "linalg.norm".
bool IsRecordedAt(RiskLevel level, std::string_view group, std::string_view api);

}  // namespace msprobe
