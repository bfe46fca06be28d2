#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "python/object.h"

namespace msprobe {

/// What the frames above a call tell about it.
struct StackDescription {
  std::string_view text;       ///< the JSON array of stack.json; valid until the next description
  std::string_view root;       ///< "optimizer" or "clip_grad" for calls made by those, else empty (pytorch_dump.md 4.3)
  bool is_recomputed = false;  ///< made again in backward by activation checkpointing
};

/// The Python frames above the current call as the JSON array of stack.json (dump_format.md 10), innermost first. Texts
/// of equal stacks are made once: a stack is told by its code objects and instruction offsets alone.
class CallStack {
 public:
  /// Frames of files under `tool_folder` are left out.
  explicit CallStack(std::string tool_folder) : tool_folder_(std::move(tool_folder)) {}

  StackDescription Describe();

 private:
  /// A step of a real model has some hundred stacks; code that is made anew all the time must not fill the memory.
  static constexpr std::size_t kMostEntries = 20000;

  struct Frame {
    PyCodeObject* code;
    int instruction;
    bool operator==(const Frame& other) const = default;
  };
  struct Entry {
    std::vector<Frame> frames;
    std::vector<Object> codes;  // keeps the addresses in `frames` from being reused
    std::string text;
    std::string_view root;
    bool is_recomputed = false;
    StackDescription Description() const { return {text, root, is_recomputed}; }
  };

  void Render(Entry& entry);
  std::string FrameText(PyCodeObject* code, int line);

  std::string tool_folder_;
  std::vector<Frame> walked_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace msprobe
