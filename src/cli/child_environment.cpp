#include "cli/child_environment.h"

#include <string_view>

extern char** environ;

namespace msprobe {

std::vector<std::string> ChildEnvironment() {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("PYTHONSAFEPATH=")) variables.emplace_back(*entry);
  }
  variables.emplace_back("PYTHONSAFEPATH=1");
  return variables;
}

std::vector<char*> ExecPointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace msprobe
