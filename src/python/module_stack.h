#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collect/call.h"
#include "collect/collector.h"
#include "python/graph_walk.h"
#include "python/object.h"
#include "record/element.h"

namespace msprobe {

struct Recording;

/// A module call between its begin and its end.
struct OpenModule {
  std::shared_ptr<ModuleCall> module;
  PyObject* instance = nullptr;          ///< borrowed, to be compared only
  const Recording* recording = nullptr;  ///< to be compared only
  std::int64_t step = 0;
  Record forward;
  std::vector<InputEdge> inputs;
  std::optional<std::uint64_t> sequence_number;
  Object handled;  ///< the exception being handled when it began, or null
};

/// The module calls that are open on this thread, outermost first. Never holds calls of a finished step or of another
/// debugger: what an exception that no hook saw has left is dropped here.
class ModuleStack {
 public:
  static void Push(OpenModule open);
  /// The innermost open call; null at the top level.
  static OpenModule* Innermost(const Recording& recording);
  /// Takes the call of `instance` off, and what is left above it; nothing if it is not there.
  static std::optional<OpenModule> Pop(const Recording& recording, PyObject* instance);
};

/// Which modules there are, by their path in the model, and the latest call of each in this step.
class ModuleCalls {
 public:
  /// `path`: dotted names inside the model, with the model's index in front where several were given.
  void Register(std::size_t module, std::string path);
  void Began(std::size_t module, std::shared_ptr<ModuleCall> call) { latest_[module] = std::move(call); }
  /// The latest call of the module in this step, or null.
  std::shared_ptr<ModuleCall> Latest(std::size_t module) const;
  /// The latest call of the nearest enclosing module that was called in this step: the parent of a call that is made
  /// again in backward, where no outer call is open (known_pains.md P216).
  std::shared_ptr<ModuleCall> Enclosing(std::size_t module) const;
  void Reset() { latest_.clear(); }

 private:
  std::unordered_map<std::string, std::size_t> by_path_;
  std::unordered_map<std::size_t, std::string> paths_;
  std::unordered_map<std::size_t, std::shared_ptr<ModuleCall>> latest_;
};

}  // namespace msprobe
