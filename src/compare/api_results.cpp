#include "compare/api_results.h"

#include <utility>

namespace msprobe {

ApiResults::State& ApiResults::Find(std::string_view full_name) {
  // Rows of one API mostly stand together.
  if (!states_.empty() && states_.back().result.name == full_name) return states_.back();
  const auto [position, inserted] = positions_.emplace(full_name, states_.size());
  if (inserted) {
    states_.emplace_back();
    states_.back().result.name = full_name;
  }
  return states_[position->second];
}

void ApiResults::Add(std::string_view full_name, std::string_view api, bool backward, const Judgement& judgement) {
  State& state = Find(full_name);
  Verdict& direction = backward ? state.result.backward : state.result.forward;
  direction = Worse(direction, judgement.verdict);
  state.is_topk = api == "topk";
  state.all_unsupported = state.all_unsupported && judgement.unsupported_dtype;
  if (judgement.verdict == Verdict::kSkip) {
    std::string& skip = backward ? state.backward_skip : state.forward_skip;
    if (skip.empty()) skip = judgement.message;
  }
  if (judgement.verdict > state.worst) {
    state.worst = judgement.verdict;
    state.result.reason = judgement.reason;
  }
}

void ApiResults::AddUnparsable(std::string_view name, const Judgement& judgement) {
  State& state = Find(name);
  state.result.forward = state.result.backward = judgement.verdict;
  state.forward_skip = judgement.message;
  state.result.reason = judgement.reason;
  state.all_unsupported = false;
}

std::vector<ApiResult> ApiResults::Take() {
  std::vector<ApiResult> results;
  results.reserve(states_.size());
  for (State& state : states_) {
    ApiResult& result = state.result;
    if (result.forward == Verdict::kSkip) {
      result.message = std::move(state.forward_skip);
    } else if (result.backward == Verdict::kSkip) {
      result.message = std::move(state.backward_skip);
    } else if (state.is_topk && result.forward == Verdict::kError) {
      result.message = kTopkHint;
    }
    if (state.all_unsupported) result.forward = result.backward = Verdict::kSkip;
    results.push_back(std::move(result));
  }
  states_.clear();
  positions_.clear();
  return results;
}

}  // namespace msprobe
