#include "config/support_list.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unordered_set>

#include "base/files.h"
#include "base/format.h"
#include "config/defaults.h"
#include "config/yaml_document.h"

namespace msprobe {
namespace {

constexpr std::array<std::string_view, 4> kCheckerCategories = {"functional", "tensor", "torch", "torch_npu"};

// Categories of both frameworks: one overlay file may serve both.
const std::vector<std::string>& KnownCategories() {
  static const std::vector<std::string> known = {"functional",
                                                 "tensor",
                                                 "torch",
                                                 "torch_npu",
                                                 "_VF",
                                                 "aten",
                                                 "distributed",
                                                 "mindspeed",
                                                 "npu_distributed",
                                                 "ops",
                                                 "mint.ops",
                                                 "mint.nn",
                                                 "mint.nn.functional",
                                                 "communication.comm_func",
                                                 "mint.distributed"};
  return known;
}

bool IsPattern(std::string_view name) { return name.find_first_of("*?") != std::string_view::npos; }
bool TakesAway(std::string_view entry) { return entry.starts_with('-'); }
std::string_view NameOf(std::string_view entry) { return entry.substr(TakesAway(entry) ? 1 : 0); }

// What the last part of a name begins at.
std::size_t LastPart(std::string_view name) { return name.rfind('.') + 1; }

// '*' any characters, '?' one; goes back to the last star only, so the cost is at most the product of the lengths.
bool MatchesWildcards(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t behind_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      behind_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++behind_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Private names ("_foo") are matched only by patterns that say so.
bool Matches(std::string_view entry_name, std::string_view name) {
  if (!IsPattern(entry_name)) return entry_name == name;
  const std::size_t part = LastPart(entry_name);
  if (LastPart(name) != part || name.substr(0, part) != entry_name.substr(0, part)) return false;
  const std::string_view pattern = entry_name.substr(part);
  const std::string_view last = name.substr(part);
  return (!last.starts_with('_') || pattern.starts_with('_')) && MatchesWildcards(pattern, last);
}

// What is wrong with an entry, or null.
const char* EntryProblem(std::string_view entry) {
  const std::string_view name = NameOf(entry);
  if (name.empty()) return "holds an empty name";
  if (IsPattern(name.substr(0, LastPart(name)))) return "may have '*' and '?' behind the last dot only";
  return nullptr;
}

// Applies the entries of one file to one category.
void Apply(std::vector<std::string> entries, std::vector<std::string>& names, std::vector<std::string>& patterns) {
  std::unordered_set<std::string> present(names.begin(), names.end());
  for (std::string& entry : entries) {
    const std::string_view name = NameOf(entry);
    if (TakesAway(entry)) {
      std::erase_if(names, [&](const std::string& known) {
        const bool goes = Matches(name, known);
        if (goes) present.erase(known);
        return goes;
      });
      if (!patterns.empty()) patterns.push_back(std::move(entry));
    } else if (IsPattern(name)) {
      patterns.push_back(std::move(entry));
    } else if (present.insert(entry).second) {
      names.push_back(std::move(entry));
    }
  }
}

Status ApplyFile(const YamlDocument& document, bool is_overlay, SupportList& list) {
  std::map<std::string, std::vector<std::string>> of_file;
  for (const auto& [category, node] : document.entries) {
    if (is_overlay &&
        std::find(KnownCategories().begin(), KnownCategories().end(), category) == KnownCategories().end()) {
      const std::string nearest = Nearest(category, KnownCategories());
      return document.Bad(category, node,
                          nearest.empty() ? "is not a category; they are " + Join(KnownCategories(), ", ")
                                          : fmt::format("is not a category; did you mean \"{}\"?", nearest));
    }
    Result<std::vector<std::string>> entries = document.TextList(category, node);
    if (!entries.ok()) return entries.error();
    for (const std::string& entry : *entries) {
      if (const char* problem = EntryProblem(entry); problem != nullptr) {
        return document.Bad(
            category, node,
            entry.empty() ? problem : fmt::format("holds \"{}\", which {}", Excerpt(entry, 80), problem));
      }
    }
    of_file[category] = std::move(*entries);
  }
  for (auto& [category, entries] : of_file)
    Apply(std::move(entries), list.categories[category], list.patterns[category]);
  return {};
}

Result<YamlDocument> LoadOverlay(const std::string& path) {
  if (Status checked = CheckInputFile(path); !checked.ok()) {
    return Error{checked.error().code, "support list: " + checked.error().message};
  }
  return LoadYaml(path, {}, {});
}

}  // namespace

bool SupportList::Contains(std::string_view category, std::string_view name) const {
  const auto names = categories.find(category);
  return names != categories.end() &&
         std::find(names->second.begin(), names->second.end(), name) != names->second.end();
}

bool SupportList::IsGivenByPattern(std::string_view category, std::string_view name) const {
  const auto entries = patterns.find(category);
  if (entries == patterns.end()) return false;
  bool given = false;
  for (const std::string& entry : entries->second) {
    if (Matches(NameOf(entry), name)) given = !TakesAway(entry);
  }
  return given;
}

std::vector<std::string> SupportList::PatternModules(std::string_view category) const {
  std::vector<std::string> modules;
  const auto entries = patterns.find(category);
  if (entries == patterns.end()) return modules;
  for (const std::string& entry : entries->second) {
    if (TakesAway(entry)) continue;
    const std::size_t part = LastPart(entry);
    std::string module = entry.substr(0, part == 0 ? 0 : part - 1);
    if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(std::move(module));
  }
  return modules;
}

std::vector<std::string> SupportList::Resolve(std::string_view category,
                                              const std::vector<std::string>& candidates) const {
  std::vector<std::string> names;
  if (const auto known = categories.find(category); known != categories.end()) names = known->second;
  std::unordered_set<std::string> present(names.begin(), names.end());
  for (const std::string& candidate : candidates) {
    if (IsGivenByPattern(category, candidate) && present.insert(candidate).second) names.push_back(candidate);
  }
  return names;
}

Result<SupportList> LoadSupportList(Framework framework, const std::string& path,
                                    const std::vector<std::string>& overlays) {
  const std::string_view built_in =
      framework == Framework::kPyTorch ? kDefaultPyTorchSupportYaml : kDefaultMindSporeSupportYaml;
  const Result<YamlDocument> document = LoadYaml(path, built_in, "the built-in support_wrap_ops.yaml");
  if (!document.ok()) return document.error();
  SupportList list;
  if (Status applied = ApplyFile(*document, false, list); !applied.ok()) return applied.error();
  for (const std::string& overlay : overlays) {
    const Result<YamlDocument> changes = LoadOverlay(overlay);
    if (!changes.ok()) return changes.error();
    if (Status applied = ApplyFile(*changes, true, list); !applied.ok()) return applied.error();
  }
  return list;
}

Result<std::vector<std::string>> FindSupportOverlays(const std::vector<std::string>& configured) {
  std::vector<std::string> paths = configured;
  if (const char* variable = std::getenv("MSPROBE_SUPPORT_LIST"); variable != nullptr) {
    for (const std::string_view path : Split(variable, ':')) paths.emplace_back(path);
  }
  std::erase_if(paths, [](const std::string& path) { return path.empty(); });
  for (std::string& path : paths) {
    const Result<YamlDocument> document = LoadOverlay(path);
    if (!document.ok()) return document.error();
    SupportList ignored;
    if (Status applied = ApplyFile(*document, true, ignored); !applied.ok()) return applied.error();
    path = AbsolutePath(path);
  }
  return paths;
}

bool IsKnownCheckerName(const SupportList& list, std::string_view name) {
  return std::any_of(kCheckerCategories.begin(), kCheckerCategories.end(),
                     [&](std::string_view category) { return list.Contains(category, name); });
}

std::string NearestCheckerName(const SupportList& list, std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (IsKnownCheckerName(list, name.substr(dot + 1))) return std::string(name.substr(dot + 1));
  }
  std::vector<std::string> known;
  for (const std::string_view category : kCheckerCategories) {
    const auto names = list.categories.find(category);
    if (names != list.categories.end()) known.insert(known.end(), names->second.begin(), names->second.end());
  }
  return Nearest(name, known);
}

}  // namespace msprobe
