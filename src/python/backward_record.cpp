#include "python/backward_record.h"

#include <exception>
#include <utility>

namespace msprobe {

BackwardRecord::BackwardRecord(std::shared_ptr<Recording> recording, GradientSubject subject)
    : recording_(std::move(recording)),
      subject_(std::move(subject)),
      step_(recording_->collector.step()),
      id_(recording_->next_backward_id++) {}

BackwardRecord::~BackwardRecord() {
  recording_->open_backwards.erase(id_);
  if (started_ && !done_) {
    try {
      const FrameworkAccess::Quiet quiet(recording_->framework);
      Finish();
    } catch (const PythonError&) {
      recording_->ReportPythonError("recording a gradient");
    } catch (const std::exception& error) {
      recording_->Report("recording a gradient", error.what());
    }
  }
}

void BackwardRecord::Resize(std::size_t outputs, std::size_t inputs) {
  output_gradients_.resize(outputs);
  input_gradients_.resize(inputs);
  contributions_.resize(inputs);
}

bool BackwardRecord::Begin() {
  if (done_ || step_ != recording_->collector.step()) {
    return false;
  }
  if (!started_) {
    started_ = true;
    Collector& collector = recording_->collector;
    admitted_ = subject_.module
                    ? collector.BeginModuleBackward(*subject_.module)
                    : collector.AdmitBackward(subject_.call, ModuleCall::WithBackward(subject_.parent).get());
    recording_->open_backwards.emplace(id_, this);
  }
  return admitted_;
}

void BackwardRecord::HookDone() {
  if (--hooks_to_come_ == 0 && !done_) {
    Finish();
  }
}

void BackwardRecord::Finish() {
  done_ = true;
  recording_->open_backwards.erase(id_);
  if (started_ && subject_.module) {
    recording_->collector.EndModuleBackward(*subject_.module);
  }
  if (admitted_) {
    Write();
  }
  contributions_.clear();
}

void BackwardRecord::Write() {
  Collector& collector = recording_->collector;
  for (std::size_t i = 0; i < contributions_.size(); ++i) {
    if (contributions_[i].sum) {  // some of its parts were never asked for
      SetInputGradient(i, contributions_[i].sum.get());
    }
  }
  Record record;
  record.name = subject_.Name();
  if (collector.reads_inputs()) {
    record.sections.push_back(Member{"input", Element(std::move(output_gradients_))});
  }
  if (collector.reads_outputs()) {
    record.sections.push_back(Member{"output", Element(std::move(input_gradients_))});
  }
  if (subject_.module) {
    collector.AddModule(std::move(record), {}, subject_.module, Direction::kBackward);
  } else {
    collector.Add(std::move(record), {}, TreePlace{ModuleCall::WithBackward(subject_.parent), {}},
                  Direction::kBackward);
  }
}

void BackwardRecord::SetOutputGradient(std::size_t position, PyObject* gradient) {
  if (position < output_gradients_.size()) {
    output_gradients_[position] = Capture(gradient, ".input.", position, recording_->collector.reads_inputs());
  }
}

void BackwardRecord::AddInputGradient(std::size_t position, PyObject* gradient) {
  if (position >= contributions_.size()) {
    return;
  }
  Contribution& contribution = contributions_[position];
  if (gradient != Py_None) {
    contribution.sum = contribution.sum ? recording_->framework.AddGradients(contribution.sum.get(), gradient)
                                        : Object::Borrow(gradient);
  }
  if (--contribution.expected <= 0 && contribution.sum) {
    SetInputGradient(position, contribution.sum.get());
    contribution.sum = Object();
  }
}

void BackwardRecord::SetInputGradient(std::size_t position, PyObject* gradient) {
  if (position < input_gradients_.size()) {
    input_gradients_[position] = Capture(gradient, ".output.", position, recording_->collector.reads_outputs());
  }
}

Element BackwardRecord::Capture(PyObject* gradient, const char* category, std::size_t position, bool wanted) {
  if (!wanted) {
    return {};
  }
  std::string stem;
  if (Collector& collector = recording_->collector; collector.saves_tensors()) {
    const std::string name = subject_.Name();
    if (collector.SavesTensors(name)) {
      stem = name + category + std::to_string(position);
    }
  }
  return recording_->values.Capture(gradient, std::move(stem));
}

void FinishOpenBackwards(Recording& recording) {
  while (!recording.open_backwards.empty()) {
    recording.open_backwards.begin()->second->Finish();  // takes itself out
  }
}

}  // namespace msprobe
