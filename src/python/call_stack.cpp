#include "python/call_stack.h"

#include <string_view>

#include "python/frames.h"
#include "record/json_writer.h"

namespace msprobe {
namespace {

int LastInstruction(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return frame->f_lasti;
#endif
}

std::string_view Utf8(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return {};
  }
  return {data, static_cast<std::size_t>(size)};
}

/// The source line without surrounding blanks; empty where there is no source.
std::string SourceLine(PyObject* file_name, int line) {
  Object linecache = Object::Steal(PyImport_ImportModule("linecache"));
  Object text =
      linecache ? Object::Steal(PyObject_CallMethod(linecache.get(), "getline", "Oi", file_name, line)) : Object();
  if (!text) {
    PyErr_Clear();
    return {};
  }
  std::string_view source = Utf8(text.get());
  const std::size_t first = source.find_first_not_of(" \t\r\n\f");
  if (first == std::string_view::npos) {
    return {};
  }
  source.remove_prefix(first);
  return std::string(source.substr(0, source.find_last_not_of(" \t\r\n\f") + 1));
}

/// Optimizers run through a wrapper of torch's; clipping has the same function names everywhere; checkpointing makes a
/// forward again from an unpack hook, or from the backward of its own function where it is reentrant.
void Classify(const PyCodeObject& code, std::string_view& root, bool& is_recomputed) {
  const std::string_view file = Utf8(code.co_filename);
  const std::string_view name = Utf8(code.co_name);
  if (name == "wrapper" && file.ends_with("torch/optim/optimizer.py")) {
    root = "optimizer";
  } else if (name == "clip_grad_norm_" || name == "clip_grad_norm" || name == "clip_grad_value_") {
    root = "clip_grad";
  } else if (file.ends_with("torch/utils/checkpoint.py") &&
             (name == "backward" || name == "unpack_hook" || name == "unpack" || name == "recompute_fn")) {
    is_recomputed = true;
  }
}

/// What stands between a caller and the tool, innermost: torch's dispatch to modes, and of a function written in Python
/// its own frame, which asked for it.
class Dispatch {
 public:
  bool Contains(const PyCodeObject& code) {
    if (over_) {
      return false;
    }
    if (Utf8(code.co_filename).ends_with("torch/overrides.py")) {
      asked_ = asked_ || Utf8(code.co_name) == "handle_torch_function";
      return true;
    }
    over_ = true;
    return asked_;
  }

 private:
  bool asked_ = false;
  bool over_ = false;
};

}  // namespace

StackDescription CallStack::Describe() {
  walked_.clear();
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a over addresses and offsets
  for (Object frame = CurrentFrame(); frame; frame = CallerOf(frame.get())) {
    Object code = CodeOf(frame.get());
    auto* code_object = reinterpret_cast<PyCodeObject*>(code.get());  // the frame keeps it alive
    const Frame entry{code_object, LastInstruction(reinterpret_cast<PyFrameObject*>(frame.get()))};
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(entry.code)) * 1099511628211ULL;
    hash = (hash ^ static_cast<std::uint64_t>(entry.instruction)) * 1099511628211ULL;
    walked_.push_back(entry);
  }
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second.frames == walked_) {
      return it->second.Description();
    }
  }
  if (entries_.size() >= kMostEntries) {
    entries_.clear();
  }
  Entry entry;
  entry.frames = walked_;
  entry.codes.reserve(walked_.size());
  for (const Frame& frame : walked_) {
    entry.codes.push_back(Object::Borrow(reinterpret_cast<PyObject*>(frame.code)));
  }
  Render(entry);
  return entries_.emplace(hash, std::move(entry))->second.Description();
}

void CallStack::Render(Entry& entry) {
  std::string& text = entry.text;
  text = "[";
  Dispatch dispatch;
  for (Object frame = CurrentFrame(); frame; frame = CallerOf(frame.get())) {
    Object code = CodeOf(frame.get());
    const int line = PyFrame_GetLineNumber(reinterpret_cast<PyFrameObject*>(frame.get()));
    Classify(*reinterpret_cast<PyCodeObject*>(code.get()), entry.root, entry.is_recomputed);
    const std::string frame_text = FrameText(reinterpret_cast<PyCodeObject*>(code.get()), line);
    if (!frame_text.empty() && !dispatch.Contains(*reinterpret_cast<PyCodeObject*>(code.get()))) {
      text += text.size() == 1 ? "" : ", ";
      AppendJsonString(text, frame_text);
    }
  }
  text += ']';
}

std::string CallStack::FrameText(PyCodeObject* code, int line) {
  const std::string_view file = Utf8(code->co_filename);
  if (file.empty() || (!tool_folder_.empty() && file.starts_with(tool_folder_))) {
    return {};
  }
  const std::string source = SourceLine(code->co_filename, line);
  if (source.empty()) {
    return {};
  }
  std::string text = "File ";
  text.append(file).append(", line ").append(std::to_string(line)).append(", in ").append(Utf8(code->co_name));
  return text.append(", \n ").append(source);
}

}  // namespace msprobe
