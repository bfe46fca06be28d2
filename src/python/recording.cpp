#include "python/recording.h"

#include <algorithm>

namespace msprobe {
namespace {

/// A failure whose text is new each time must not fill the disk.
constexpr std::size_t kMostReports = 100;

}  // namespace

void Recording::AddInputs(Record& forward, PyObject* arguments, PyObject* keywords) {
  if (collector.reads_inputs()) {
    forward.sections.push_back(Member{"input_args", values.CaptureTuple(arguments, forward.name, "input")});
    forward.sections.push_back(Member{"input_kwargs", values.CaptureKeywords(keywords, forward.name)});
  }
}

void Recording::AddOutput(Record& forward, PyObject* output) {
  if (collector.reads_outputs()) {
    forward.sections.push_back(Member{"output", values.CaptureOutput(output, forward.name)});
  }
}

StackDescription Recording::DescribeStack() { return collects_stacks ? stack.Describe() : StackDescription{}; }

void MarkRecomputed(Record& forward, const StackDescription& stack) {
  if (stack.is_recomputed) {
    forward.sections.push_back(Member{"is_recompute", Element(true)});
  }
}

void Recording::Report(const char* where, const std::string& what) {
  const std::string line = std::string("a failure while ") + where + ", the training goes on: " + what;
  if (reported.size() >= kMostReports || !reported.insert(line).second) {
    return;
  }
  if (on_error) {
    Object text = Object::Steal(PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), "replace"));
    Object ignored = text ? Object::Steal(PyObject_CallOneArg(on_error.get(), text.get())) : Object();
  }
  PyErr_Clear();
}

void Recording::ReportPythonError(const char* where) {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  std::string what = type == nullptr ? "unknown" : reinterpret_cast<PyTypeObject*>(type)->tp_name;
  if (Object text = value == nullptr ? Object() : Object::Steal(PyObject_Str(value)); text) {
    if (const char* utf8 = PyUnicode_AsUTF8(text.get())) {
      what.append(": ").append(utf8, std::min<std::size_t>(std::char_traits<char>::length(utf8), 500));
    }
  }
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  Report(where, what);
}

}  // namespace msprobe
