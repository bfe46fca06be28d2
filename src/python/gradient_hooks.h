#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "collect/collector.h"
#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// The edge of the autograd graph that an input of a call hangs on, read before the call (an in-place call moves it).
struct InputEdge {
  PyObject* tensor = nullptr;  ///< borrowed: the call's arguments keep it alive
  bool requires_grad = false;
  Object grad_fn;  ///< null for a leaf
  long output_number = 0;
};

/// The edges of all tensor arguments in call order: positional depth-first, then keywords.
std::vector<InputEdge> ReadInputEdges(const TorchAccess& torch, PyObject* arguments, PyObject* keywords);

/// After the call: finds the nodes between `output` and the input edges and hooks them, so that the backward record of
/// `call` is written when the gradients arrive (pytorch_dump.md 6.4, decisions 4 and 5). Nodes made before
/// `first_sequence_number` are not entered. Never inserts a node, never keeps a tensor.
void HookGradients(const std::shared_ptr<Recording>& recording, ApiCall call, const std::vector<InputEdge>& inputs,
                   PyObject* output, std::optional<std::uint64_t> first_sequence_number);

/// Writes what has arrived of records that are still incomplete, nulls for the rest. Called when a step ends.
void FinishOpenBackwards(Recording& recording);

/// Creates the hook types; once, at import. Throws PythonError.
void InitialiseGradientHooks();

}  // namespace msprobe
