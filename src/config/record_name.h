#pragma once

#include <cstdint>
#include <string_view>

namespace msprobe {

enum class NameKind : std::uint8_t { kApi, kModule, kParameterGradients, kNeither };

/// Parts of a record name; views into the text that was parsed.
///   API call              `<Group>.<api>.<n>.<direction>`, the api may hold dots ("linalg.norm")
///   module                `<Module|Cell>.<path>.<Class>.<direction>.<n>`, the path may hold dots
///   parameter gradients   `<Module|Cell>.<path>.<Class>.parameters_grad.<n>`
struct NameParts {
  NameKind kind = NameKind::kNeither;
  std::string_view stem;       ///< without number and direction: "Torch.linalg.norm", "Module.block.fc1.Linear"
  std::string_view api;        ///< the stem without its first part: "linalg.norm", "block.fc1.Linear"
  std::string_view number;     ///< decimal
  std::string_view direction;  ///< "forward", "backward", for parameter gradients "parameters_grad"

  /// Of a module: "block.fc1" and "Linear"; empty for APIs.
  std::string_view module_path() const;
  std::string_view module_class() const;
};

/// By position from both ends, never by a substring. Of kind kNeither all parts are empty.
NameParts ParseNameParts(std::string_view name);

}  // namespace msprobe
