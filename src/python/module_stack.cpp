#include "python/module_stack.h"

#include <algorithm>
#include <utility>

#include "python/recording.h"

namespace msprobe {
namespace {

/// A thread ends without the interpreter's lock: what is left then cannot be released and stays.
struct Holder {
  std::vector<OpenModule> open;
  ~Holder() {
    if (!open.empty()) {
      new std::vector<OpenModule>(std::move(open));  // NOLINT: on purpose
    }
  }
};

thread_local Holder holder;

bool IsStale(const OpenModule& open, const Recording& recording) {
  return open.recording != &recording || open.step != recording.collector.step();
}

}  // namespace

void ModuleStack::Push(OpenModule open) { holder.open.push_back(std::move(open)); }

OpenModule* ModuleStack::Innermost(const Recording& recording) {
  std::vector<OpenModule>& open = holder.open;
  while (!open.empty() && IsStale(open.back(), recording)) {
    open.pop_back();
  }
  return open.empty() ? nullptr : &open.back();
}

std::optional<OpenModule> ModuleStack::Pop(const Recording& recording, PyObject* instance) {
  std::vector<OpenModule>& open = holder.open;
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const OpenModule& entry) {
    return entry.instance == instance && entry.recording == &recording;
  });
  if (found == open.rend()) {
    return std::nullopt;
  }
  OpenModule popped = std::move(*found);
  open.erase(std::prev(found.base()), open.end());
  return popped;
}

void ModuleCalls::Register(std::size_t module, std::string path) {
  by_path_[path] = module;
  paths_[module] = std::move(path);
}

std::shared_ptr<ModuleCall> ModuleCalls::Latest(std::size_t module) const {
  const auto call = latest_.find(module);
  return call == latest_.end() ? nullptr : call->second;
}

std::shared_ptr<ModuleCall> ModuleCalls::Enclosing(std::size_t module) const {
  const auto own = paths_.find(module);
  std::string path = own == paths_.end() ? std::string() : own->second;
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
    path.resize(dot);
    const auto outer = by_path_.find(path);
    const auto call = outer == by_path_.end() ? latest_.end() : latest_.find(outer->second);
    if (call != latest_.end()) {
      return call->second;
    }
  }
  return nullptr;
}

}  // namespace msprobe
