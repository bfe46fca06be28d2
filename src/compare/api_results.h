#pragma once

#include <deque>
#include <memory>
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
  std::string message;  ///< why a direction is SKIP, or a hint
  std::string reason;   ///< of the first error, "" without one

  Verdict Overall() const { return Worse(forward, backward); }
};

/// Gathers rows into one result per API, in order of first appearance, wherever the rows stand in the file.
class ApiResults {
 public:
  void Add(std::string_view full_name, std::string_view api, bool backward, const Judgement& judgement);

  /// A row whose name could not be parsed stands for an API of its own, in both directions.
  void AddUnparsable(std::string_view name, const Judgement& judgement);

  /// Hands out the results one after the other.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const State& state : states_) visit(Finish(state));
  }

 private:
  struct Texts {
    std::string forward_skip;  // of the first SKIP row
    std::string backward_skip;
    std::string error;
  };
  struct State {
    std::string name;
    std::unique_ptr<Texts> texts;  // only where there is one: most rows pass
    Verdict forward = Verdict::kBlank;
    Verdict backward = Verdict::kBlank;
    bool is_topk = false;
    bool all_unsupported = true;
  };

  State& Find(std::string_view full_name);
  static ApiResult Finish(const State& state);

  std::deque<State> states_;  // never moves its elements
  std::unordered_map<std::string_view, State*> positions_;
};

}  // namespace msprobe
