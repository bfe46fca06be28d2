#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/ignore_rules.h"
#include "python/object.h"
#include "python/torch/torch_recording.h"

namespace msprobe {

/// One function of torch.distributed as the recording knows it.
struct DistributedApi {
  std::size_t index = 0;                ///< of "Distributed.{name}" in the collector
  std::string name;                     ///< "all_reduce"
  std::vector<std::string> parameters;  ///< names of the function's parameters, by position
  IgnoreRule ignored;  ///< parts without meaningful data: null in the record, whichever way they are passed
};

/// A callable that makes the call `original(*args, **kwargs)` and, while the recording collects, records it as
/// `Distributed.{name}.{n}.forward` (pytorch_dump.md 7.1). Results, handles and exceptions pass unchanged; the record
/// of a call that hands out handles is written when the user learns of their completion. Throws PythonError.
Object MakeDistributedCall(std::shared_ptr<Recording> recording, DistributedApi api, PyObject* original);

/// Creates the type; once, at import. Throws PythonError.
void InitialiseDistributedCalls();

}  // namespace msprobe
