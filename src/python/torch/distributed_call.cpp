#include "python/torch/distributed_call.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "config/distributed_rules.h"
#include "python/callable_type.h"
#include "python/guarded.h"
#include "python/module_recorder.h"
#include "python/outermost_call.h"
#include "python/pending_output.h"
#include "python/torch/distributed_values.h"
#include "python/work_watch.h"

namespace msprobe {
namespace {

struct DistributedCall {
  Object original;
  std::shared_ptr<Recording> recording;
  std::shared_ptr<const DistributedApi> api;
};

CallableType<DistributedCall> distributed_call_type;

struct BegunCall {
  Call call;
  std::shared_ptr<ModuleCall> module;
  Record forward;
};

bool IsIgnored(const DistributedApi& api, const IgnoredParts& parts, std::size_t position) {
  return parts.Has(static_cast<std::int64_t>(position)) ||
         (position < api.parameters.size() && parts.Has(std::string_view(api.parameters[position])));
}

bool IsIgnored(const DistributedApi& api, const IgnoredParts& parts, PyObject* keyword) {
  const char* text = PyUnicode_Check(keyword) ? PyUnicode_AsUTF8(keyword) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return parts.all;
  }
  const auto parameter = std::find(api.parameters.begin(), api.parameters.end(), text);
  return parts.Has(std::string_view(text)) ||
         (parameter != api.parameters.end() && parts.Has(parameter - api.parameters.begin()));
}

/// The positional arguments, None in the place of ignored ones.
Object KeptArguments(const DistributedApi& api, const IgnoredParts& parts, PyObject* arguments) {
  if (parts.empty()) {
    return Object::Borrow(arguments);
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  Object kept = Checked(PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* value = IsIgnored(api, parts, static_cast<std::size_t>(i)) ? Py_None : PyTuple_GET_ITEM(arguments, i);
    Py_INCREF(value);
    PyTuple_SET_ITEM(kept.get(), i, value);
  }
  return kept;
}

Object KeptKeywords(const DistributedApi& api, const IgnoredParts& parts, PyObject* keywords) {
  if (keywords == nullptr || parts.empty()) {
    return Object::Borrow(keywords);
  }
  Object kept = Checked(PyDict_New());
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(keywords, &position, &key, &value) != 0) {
    if (PyDict_SetItem(kept.get(), key, IsIgnored(api, parts, key) ? Py_None : value) != 0) {
      throw PythonError{};
    }
  }
  return kept;
}

/// Positional arguments followed by keyword values, ignored ones None: what the record shows as output.
Object ArgumentsAsOutputs(const DistributedApi& api, PyObject* arguments, PyObject* keywords) {
  Object outputs = KeptArguments(api, api.ignored.output, arguments);
  Object kept = KeptKeywords(api, api.ignored.output, keywords);
  if (!kept) {
    return outputs;
  }
  Object values = Checked(PyDict_Values(kept.get()));
  Object tuple = Checked(PyList_AsTuple(values.get()));
  return Checked(PySequence_Concat(outputs.get(), tuple.get()));
}

void Begin(Recording& recording, const DistributedApi& api, PyObject* arguments, PyObject* keywords, BegunCall& begun) {
  const FrameworkAccess::Quiet quiet(recording.framework);
  Collector& collector = recording.collector;
  begun.call = collector.BeginCall(api.index);
  if (collector.has_modules()) {
    begun.module = RunningModule(recording);
  }
  begun.forward.name = begun.call.forward_name;
  if (begun.call.keeps_forward && collector.reads_inputs()) {
    const HiddenReceiveBuffers hidden;
    const Object kept = KeptArguments(api, api.ignored.input, arguments);
    const Object kept_keywords = KeptKeywords(api, api.ignored.input, keywords);
    recording.AddInputs(begun.forward, kept.get(), kept_keywords.get());
  }
}

void End(const std::shared_ptr<Recording>& recording, const DistributedApi& api, BegunCall& begun, PyObject* arguments,
         PyObject* keywords, PyObject* result) {
  const FrameworkAccess::Quiet quiet(recording->framework);
  if (!begun.call.keeps_forward) {
    return;
  }
  Object outputs;
  const bool in_arguments = AnswersInArguments(api.name);
  if (recording->collector.reads_outputs()) {
    if (in_arguments) {
      outputs = ArgumentsAsOutputs(api, arguments, keywords);
    } else if (PyTuple_Check(result)) {
      outputs = Object::Borrow(result);
    } else {
      outputs = Checked(PyTuple_Pack(1, result));
    }
  }
  const auto pending =
      std::make_shared<PendingOutput>(recording, std::move(begun.forward), std::move(begun.module), std::move(outputs));
  if (in_arguments && IsCoalescing()) {
    return;  // nothing has been sent yet, and nobody says when
  }
  const std::vector<PyObject*> handles =
      in_arguments ? WorkHandlesIn(recording->framework, result) : std::vector<PyObject*>();
  if (handles.empty()) {
    if (!pending->HandleCompleted()) {
      throw PythonError{};
    }
    return;
  }
  pending->SetHandleCount(handles.size());
  for (PyObject* handle : handles) {
    WatchWork(handle, std::make_shared<PendingHandle>(pending));
  }
}

PyObject* MakeCall(PyObject* self, PyObject* arguments, PyObject* keywords) {
  const DistributedCall distributed = CallableType<DistributedCall>::Of(self);
  PyObject* original = distributed.original.get();
  const std::shared_ptr<Recording>& recording = distributed.recording;
  if (!recording->TakesCalls() || OutermostCall::IsRunning()) {
    return PyObject_Call(original, arguments, keywords);
  }
  const DistributedApi& api = *distributed.api;
  BegunCall begun;
  const Outcome outcome = Guarded(*recording, "recording the inputs of a distributed call",
                                  [&] { Begin(*recording, api, arguments, keywords, begun); });
  Object result;
  if (outcome != Outcome::kInterrupted) {
    const OutermostCall running;
    result = Object::Steal(PyObject_Call(original, arguments, keywords));
  }
  if (!result) {
    if (!begun.call.forward_name.empty()) {
      recording->collector.AbandonCall(begun.call, begun.forward);
    }
    return nullptr;
  }
  if (outcome == Outcome::kDone && Guarded(*recording, "recording the output of a distributed call", [&] {
                                     End(recording, api, begun, arguments, keywords, result.get());
                                   }) == Outcome::kInterrupted) {
    return nullptr;
  }
  Py_INCREF(result.get());
  return result.get();
}

}  // namespace

Object MakeDistributedCall(std::shared_ptr<Recording> recording, DistributedApi api, PyObject* original) {
  return distributed_call_type.Make(
      {Object::Borrow(original), std::move(recording), std::make_shared<DistributedApi>(std::move(api))});
}

void InitialiseDistributedCalls() { distributed_call_type.Initialise("msprobe._core.DistributedCall", MakeCall); }

}  // namespace msprobe
