#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collect/call.h"
#include "python/object.h"
#include "python/recording.h"
#include "record/element.h"

namespace msprobe {

/// Whose gradients a record holds: those of an API call, or of a module call.
struct GradientSubject {
  Call call;                           ///< of an API
  std::shared_ptr<ModuleCall> module;  ///< the module call itself; null for an API
  std::shared_ptr<ModuleCall> parent;  ///< the module that an API was called in

  std::string Name() const { return (module ? module->call : call).Name(Direction::kBackward); }
};

/// Gathers the gradients of one call from several hooks and writes the record when the last one has come.
class BackwardRecord {
 public:
  BackwardRecord(std::shared_ptr<Recording> recording, GradientSubject subject);
  /// The graph may go while some of its nodes have not run: gradients of some inputs only were asked for.
  ~BackwardRecord();
  BackwardRecord(const BackwardRecord&) = delete;
  BackwardRecord& operator=(const BackwardRecord&) = delete;

  /// Room for the gradients of that many outputs and inputs.
  void Resize(std::size_t outputs, std::size_t inputs);
  /// One more node will add to the gradient of this input.
  void ExpectContribution(std::size_t input) { ++contributions_[input].expected; }
  void ExpectHook() { ++hooks_to_come_; }

  Recording& recording() { return *recording_; }
  /// False when the record is written already (a second backward), filtered, or its step is over.
  bool Begin();
  void HookDone();
  void Finish();
  void SetOutputGradient(std::size_t position, PyObject* gradient);
  void AddInputGradient(std::size_t position, PyObject* gradient);
  void SetInputGradient(std::size_t position, PyObject* gradient);

 private:
  /// Several nodes may feed one input: their sum so far, and how many are still to come.
  struct Contribution {
    int expected = 0;
    Object sum;
  };
  Element Capture(PyObject* gradient, const char* category, std::size_t position, bool wanted);
  void Write();

  std::shared_ptr<Recording> recording_;
  GradientSubject subject_;
  std::vector<Element> output_gradients_;
  std::vector<Element> input_gradients_;
  std::vector<Contribution> contributions_;
  int hooks_to_come_ = 0;
  std::int64_t step_;
  std::uint64_t id_;
  bool started_ = false;
  bool admitted_ = false;
  bool done_ = false;
};

/// Writes what has arrived of records that are still incomplete, nulls for the rest. Called when a step ends.
void FinishOpenBackwards(Recording& recording);

}  // namespace msprobe
