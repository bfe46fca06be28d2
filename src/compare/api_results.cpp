#include "compare/api_results.h"

namespace msprobe {

ApiResults::State& ApiResults::Find(std::string_view full_name) {
  // Rows of one API mostly stand together.
  if (!states_.empty() && states_.back().name == full_name) return states_.back();
  if (const auto known = positions_.find(full_name); known != positions_.end()) return *known->second;
  State& state = states_.emplace_back();
  state.name = full_name;
  positions_.emplace(state.name, &state);
  return state;
}

void ApiResults::Add(std::string_view full_name, std::string_view api, bool backward, const Judgement& judgement) {
  State& state = Find(full_name);
  Verdict& direction = backward ? state.backward : state.forward;
  direction = Worse(direction, judgement.verdict);
  state.is_topk = api == "topk";
  state.all_unsupported = state.all_unsupported && judgement.unsupported_dtype;
  if (judgement.verdict != Verdict::kSkip && judgement.verdict != Verdict::kError) return;
  if (!state.texts) state.texts = std::make_unique<Texts>();
  const bool is_error = judgement.verdict == Verdict::kError;
  std::string& text = is_error ? state.texts->error : backward ? state.texts->backward_skip : state.texts->forward_skip;
  if (text.empty()) text = is_error ? judgement.reason : judgement.message;
}

void ApiResults::AddUnparsable(std::string_view name, const Judgement& judgement) {
  State& state = Find(name);
  state.forward = Worse(state.forward, judgement.verdict);
  state.backward = Worse(state.backward, judgement.verdict);
  state.all_unsupported = false;
  if (!state.texts) state.texts = std::make_unique<Texts>();
  state.texts->forward_skip = judgement.message;
}

ApiResult ApiResults::Finish(const State& state) {
  ApiResult result;
  result.name = state.name;
  result.forward = state.forward;
  result.backward = state.backward;
  if (state.texts) {
    result.reason = state.texts->error;
    if (state.forward == Verdict::kSkip) {
      result.message = state.texts->forward_skip;
    } else if (state.backward == Verdict::kSkip) {
      result.message = state.texts->backward_skip;
    }
  }
  if (state.is_topk && state.forward == Verdict::kError && result.message.empty()) result.message = kTopkHint;
  // No row inside the standard: both directions say so (precision_standards.md 6).
  if (state.all_unsupported) result.forward = result.backward = Verdict::kSkip;
  return result;
}

}  // namespace msprobe
