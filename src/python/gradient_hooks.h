#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "python/backward_record.h"
#include "python/graph_walk.h"
#include "python/recording.h"

namespace msprobe {

/// After a call: finds the nodes between `output` and the input edges and hooks them, so that the backward record of
/// `subject` is written when the gradients arrive (pytorch_dump.md 6.4, decisions 4 and 5). Nodes made before
/// `first_sequence_number` are not entered. Never inserts a node, never keeps a tensor. A module's `has_backward` is
/// set if it gets a record.
void HookGradients(const std::shared_ptr<Recording>& recording, GradientSubject subject,
                   const std::vector<InputEdge>& inputs, PyObject* output,
                   std::optional<std::uint64_t> first_sequence_number);

/// Creates the type of hooks on outputs, for frameworks that show no graph; once, at import. Throws PythonError.
void InitialiseOutputHooks();

}  // namespace msprobe
