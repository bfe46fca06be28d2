#include "config/unsupported_keys.h"

#include <array>
#include <string_view>

#include "base/format.h"

namespace msprobe {
namespace {

enum class Where { kRoot, kSection };
enum class When { kGiven, kTrue, kFalse, kNotEmpty };
enum class Then { kIgnore, kRefuse };

struct UnsupportedKey {
  Where where;
  std::string_view key;
  When when;
  Then then;
  std::string_view text;
};

constexpr std::array<UnsupportedKey, 11> kUnsupportedKeys = {{
    {Where::kRoot, "enable_dataloader", When::kTrue, Then::kRefuse,
     "is true, which is not supported; remove it and call start(), stop() and step() in the training loop"},
    {Where::kRoot, "dump_enable", When::kFalse, Then::kRefuse,
     "is false, which is not supported; remove it and call start() only where data is wanted"},
    {Where::kRoot, "dump_enable", When::kTrue, Then::kIgnore, "is ignored: the file is read once, at construction"},
    {Where::kRoot, "seed", When::kGiven, Then::kIgnore,
     "is ignored: collecting never touches random generators; call seed_all() in the script"},
    {Where::kRoot, "is_deterministic", When::kTrue, Then::kIgnore,
     "is ignored: collecting never changes the framework's modes; call seed_all(mode=True) in the script"},
    {Where::kRoot, "async_dump", When::kTrue, Then::kIgnore,
     "is ignored: values of device tensors are fetched once for many records anyway"},
    {Where::kSection, "online_run_ut", When::kTrue, Then::kRefuse,
     "is true, but online checking is not supported; dump first, then run \"msprobe -f pytorch run_ut\""},
    {Where::kSection, "slice", When::kNotEmpty, Then::kIgnore, "is ignored: whole tensors are recorded"},
    {Where::kSection, "request_id", When::kNotEmpty, Then::kIgnore, "is ignored: whole tensors are recorded"},
    {Where::kSection, "bench_path", When::kNotEmpty, Then::kIgnore,
     "is ignored: tensors are saved whether or not they differ from an earlier dump"},
    {Where::kSection, "backward_input", When::kNotEmpty, Then::kIgnore, "is ignored: gradients are taken from the run"},
}};

bool Applies(const rapidjson::Value& value, When when) {
  switch (when) {
    case When::kGiven:
      return true;
    case When::kTrue:
      return value.IsTrue();
    case When::kFalse:
      return value.IsFalse();
    case When::kNotEmpty:
      if (value.IsString()) return value.GetStringLength() > 0;
      if (value.IsArray()) return !value.GetArray().Empty();
      return true;
  }
  return false;
}

}  // namespace

Status CheckUnsupportedKeys(const JsonSection& root, const JsonSection& section, Framework framework, Level level,
                            std::vector<std::string>& warnings) {
  const bool goes_to_framework = framework == Framework::kMindSpore && level == Level::kL2;
  for (const UnsupportedKey& entry : kUnsupportedKeys) {
    const JsonSection& place = entry.where == Where::kRoot ? root : section;
    const rapidjson::Value* value = place.Find(entry.key);
    if (value == nullptr || !Applies(*value, entry.when) || (goes_to_framework && entry.key == "async_dump")) continue;
    Error error = place.Bad(entry.key, std::string(entry.text));
    if (entry.then == Then::kRefuse) return Error{ErrorCode::kUnsupported, std::move(error.message)};
    warnings.push_back(std::move(error.message));
  }
  if (framework == Framework::kPyTorch) {
    const Result<std::string> format = section.Text("file_format", "npy");
    if (format.ok() && *format == "bin") {
      warnings.push_back(section.Bad("file_format", "is ignored: PyTorch tensors are always saved as .pt").message);
    }
  }
  return {};
}

Status CheckTaskIsSupported(const std::string& task) {
  if (task == "run_ut" || task == "acc_check") {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("task \"{}\" collects nothing, it belongs to the command \"msprobe -f pytorch run_ut\"; to "
                    "collect set task to \"statistics\" or \"tensor\"",
                    task)};
  }
  for (const std::string_view refused : {"free_benchmark", "grad_probe", "exception_dump", "nan_check", "diff_check"}) {
    if (task == refused) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("task \"{}\" is not supported; use \"statistics\" or \"tensor\"", task)};
    }
  }
  return {};
}

}  // namespace msprobe
