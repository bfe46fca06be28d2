#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/temporary_folder.h"
#include "replay/case.h"

namespace msprobe {

/// Settings with a small support list of their own.
inline ReplaySettings TestSettings() {
  ReplaySettings settings;
  settings.dump_directory = "/nonexistent";
  settings.names.categories["functional"] = {
      "linear", "conv2d", "cross_entropy", "dropout", "rrelu", "softmax", "scaled_dot_product_attention"};
  settings.names.categories["tensor"] = {"__getitem__", "__setitem__",       "add_",
                                         "type_as",     "repeat_interleave", "resize_as_"};
  settings.names.categories["torch"] = {"add",    "matmul",      "mul",        "cat", "histc",    "topk",
                                        "arange", "linalg.norm", "linalg.inv", "mm",  "bernoulli"};
  return settings;
}

/// A message of the parent process. `args` and `kwargs` are JSON text, `more` further sections.
inline std::string CaseMessage(const std::string& name, const std::string& args, const std::string& kwargs = "{}",
                               const std::string& backward = "null", const std::string& more = "") {
  return R"({"type": "case", "index": 7, "name": ")" + name + R"(", "forward": {"input_args": )" + args +
         R"(, "input_kwargs": )" + kwargs + more + R"(}, "backward": )" + backward + "}";
}

/// A tensor record; `more` is text such as `, "stride": [1, 2]`.
inline std::string TensorJson(const std::string& dtype, const std::string& shape, const std::string& low,
                              const std::string& high, bool requires_grad = false, const std::string& more = "") {
  return R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": )" + shape + R"(, "Max": )" + high +
         R"(, "Min": )" + low + R"(, "Mean": 0, "Norm": 1, "requires_grad": )" + (requires_grad ? "true" : "false") +
         more + "}";
}

inline Result<Case> Plan(const std::string& message, const ReplaySettings& settings = TestSettings()) {
  auto request = ParseCaseRequest(message);
  if (!request.ok()) return request.error();
  return PlanCase(request.value(), settings);
}

}  // namespace msprobe
