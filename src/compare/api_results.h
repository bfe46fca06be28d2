#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/judge.h"

namespace msprobe {

/// The result of one API: one row of the result file (precision_standards.md 6).
struct ApiResult {
  std::string name;
  Verdict forward = Verdict::kBlank;
  Verdict backward = Verdict::kBlank;
  std::string message;
  std::string reason;  ///< of the worst row that is not a pass

  Verdict Overall() const { return Worse(forward, backward); }
};

/// Gathers rows into one result per API, in order of first appearance, wherever the rows stand in the file.
class ApiResults {
 public:
  /// `direction_known` false: the row's name could not be parsed, and stands for the API in both directions.
  void Add(std::string_view full_name, std::string_view api, bool backward, const Judgement& judgement);
  void AddUnparsable(std::string_view name, const Judgement& judgement);

  /// To be called once, when all rows were added.
  std::vector<ApiResult> Take();

 private:
  struct State {
    ApiResult result;
    Verdict worst = Verdict::kBlank;
    std::string forward_skip;  // first reasons of SKIP rows
    std::string backward_skip;
    bool is_topk = false;
    bool all_unsupported = true;
  };

  State& Find(std::string_view full_name);

  std::vector<State> states_;
  std::unordered_map<std::string, std::size_t> positions_;
};

}  // namespace msprobe
