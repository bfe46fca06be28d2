#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace msprobe {

enum class Direction : std::uint8_t { kForward, kBackward };

/// One call of an API or a module while collecting; its number and names are fixed when it begins.
struct Call {
  std::size_t subject = 0;
  std::uint64_t number = 0;
  std::string forward_name;    ///< "Torch.add.0.forward", "Module.layer.Linear.forward.0"
  bool keeps_forward = false;  ///< the forward record passed the filters

  std::string Name(Direction direction) const {
    std::string name = forward_name;
    if (direction == Direction::kBackward) {
      constexpr std::string_view kForward = "forward";
      name.replace(name.rfind(kForward), kForward.size(), "backward");
    }
    return name;
  }
};

/// A call of a module and its place in the tree of construct.json. Inner calls keep their outer ones.
struct ModuleCall {
  Call call;
  std::shared_ptr<ModuleCall> parent;   ///< null at the top
  bool has_backward = false;            ///< a backward record of it is to come
  std::optional<bool> admits_backward;  ///< decided when its first gradient, or that of an inner call, arrives
  bool backward_in_scope = false;       ///< set with admits_backward
  bool in_tree[2] = {false, false};     ///< whether construct.json has its entry, by direction

  /// The innermost of `module` and its outer calls that has a backward record; null if none has.
  static std::shared_ptr<ModuleCall> WithBackward(std::shared_ptr<ModuleCall> module) {
    while (module && !module->has_backward) {
      module = module->parent;
    }
    return module;
  }
};

/// Where a record stands in construct.json.
struct TreePlace {
  std::shared_ptr<ModuleCall> parent;  ///< null: under `root`
  std::string_view root;               ///< "optimizer", "clip_grad", or empty: the top
};

}  // namespace msprobe
