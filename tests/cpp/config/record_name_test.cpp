#include "config/record_name.h"

#include <gtest/gtest.h>

#include <string>

namespace msprobe {
namespace {

std::string Joined(std::string_view name) {
  const NameParts parts = ParseNameParts(name);
  const std::string kind = parts.kind == NameKind::kApi                  ? "api"
                           : parts.kind == NameKind::kModule             ? "module"
                           : parts.kind == NameKind::kParameterGradients ? "gradients"
                                                                         : "neither";
  std::string text = kind;
  for (const std::string_view part :
       {parts.stem, parts.api, parts.number, parts.direction, parts.module_path(), parts.module_class()}) {
    text.append(1, '|').append(part);
  }
  return text;
}

TEST(RecordNameTest, CallsOfApis) {
  EXPECT_EQ(Joined("Torch.add.0.forward"), "api|Torch.add|add|0|forward||");
  EXPECT_EQ(Joined("Torch.linalg.norm.12.backward"), "api|Torch.linalg.norm|linalg.norm|12|backward||");
  EXPECT_EQ(Joined("Functional.forward.3.forward"), "api|Functional.forward|forward|3|forward||");
  EXPECT_EQ(Joined("Modules.a.0.forward"), "api|Modules.a|a|0|forward||");
}

TEST(RecordNameTest, CallsOfModules) {
  EXPECT_EQ(Joined("Module.fc1.Linear.forward.0"), "module|Module.fc1.Linear|fc1.Linear|0|forward|fc1|Linear");
  EXPECT_EQ(Joined("Cell.0.block.Net.backward.11"), "module|Cell.0.block.Net|0.block.Net|11|backward|0.block|Net");
  EXPECT_EQ(Joined("Module.Net.forward.0"), "module|Module.Net|Net|0|forward||Net");
  EXPECT_EQ(Joined("Module.fc1.Linear.parameters_grad.2"),
            "gradients|Module.fc1.Linear|fc1.Linear|2|parameters_grad|fc1|Linear");
}

TEST(RecordNameTest, EverythingElseIsNeither) {
  for (const char* name : {"", ".", "...", "relu", "Torch.add", "Torch.add.forward", "Torch.add.forward.0",
                           "Torch.add.0", "Torch.0.forward", ".add.0.forward", "Torch..0.forward",
                           "Torch.add.x.forward", "Torch.add.0.sideways", "Module.fc1.0.forward", "Module.forward.0",
                           "Module.fc1.Linear.forward.", "Module.fc1.Linear.forward.-1", "Torch.add..forward"}) {
    EXPECT_EQ(Joined(name), "neither||||||") << name;
  }
}

}  // namespace
}  // namespace msprobe
