#include "python/pending_output.h"

#include <map>
#include <utility>
#include <vector>

#include "python/guarded.h"

namespace msprobe {
namespace {

/// As many nulls as there would be outputs.
Element Nulls(PyObject* outputs) {
  ElementList list;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs); ++i) {
    list.emplace_back();
  }
  return Element(std::move(list));
}

/// Those that exist, in order of their calls; under the GIL. Never destroyed: handles may outlive the extension's
/// statics.
std::map<std::uint64_t, PendingOutput*>& Pending() {
  static auto& pending = *new std::map<std::uint64_t, PendingOutput*>;
  return pending;
}

std::uint64_t next_id = 0;

}  // namespace

PendingOutput::PendingOutput(std::shared_ptr<Recording> recording, Record begun, std::shared_ptr<ModuleCall> module,
                             Object outputs)
    : recording_(std::move(recording)),
      record_(std::move(begun)),
      module_(std::move(module)),
      outputs_(std::move(outputs)),
      id_(next_id++) {
  Pending().emplace(id_, this);
  const StackDescription stack = recording_->DescribeStack();
  MarkRecomputed(record_, stack);
  stack_ = stack.text;
  root_ = stack.root;
}

PendingOutput::~PendingOutput() {
  GiveUp();
  Pending().erase(id_);
}

void PendingOutput::GiveUp() {
  if (done_) {
    return;
  }
  // This may run in the middle of anything that lets go of an object.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  Write(false);
  PyErr_Restore(type, value, traceback);
}

void PendingOutput::GiveUpAll(const Recording& recording) {
  for (auto next = Pending().begin(); next != Pending().end();) {
    PendingOutput* pending = next->second;
    const std::uint64_t id = next->first;
    if (pending->recording_.get() == &recording) {
      pending->GiveUp();
    }
    next = Pending().upper_bound(id);  // letting go of tensors may destroy others
  }
}

void PendingOutput::ForgetAll(const Recording& recording) {
  for (auto next = Pending().begin(); next != Pending().end();) {
    PendingOutput* pending = next->second;
    const std::uint64_t id = next->first;
    if (pending->recording_.get() == &recording) {
      pending->done_ = true;
      const Object outputs = std::exchange(pending->outputs_, Object());
    }
    next = Pending().upper_bound(id);
  }
}

bool PendingOutput::Write(bool completed) {
  if (done_) {
    return true;
  }
  done_ = true;
  const Object outputs = std::exchange(outputs_, Object());
  const std::shared_ptr<Recording> recording = recording_;
  const Outcome outcome = Guarded(*recording, "recording the output of a distributed call", [&] {
    const FrameworkAccess::Quiet quiet(recording->framework);
    if (outputs) {
      record_.sections.push_back(
          Member{"output", completed ? recording->values.CaptureTuple(outputs.get(), record_.name, "output")
                                     : Nulls(outputs.get())});
    }
    recording->collector.Add(std::move(record_), stack_, TreePlace{module_, root_}, Direction::kForward);
  });
  return outcome != Outcome::kInterrupted;
}

}  // namespace msprobe
