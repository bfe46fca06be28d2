#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "check/case_rows.h"

namespace msprobe {

/// How the APIs of a run ended.
struct RunCounts {
  static constexpr std::size_t kNames = 10;

  std::size_t pass = 0;
  std::size_t warning = 0;
  std::size_t error = 0;
  std::size_t skip = 0;
  std::vector<std::string> error_names;  ///< the first kNames of them

  std::size_t total() const { return pass + warning + error + skip; }

  void Add(const std::string& name, std::string_view forward, std::string_view backward) {
    switch (OutcomeOf(forward, backward)) {
      case Outcome::kPass:
        ++pass;
        break;
      case Outcome::kWarning:
        ++warning;
        break;
      case Outcome::kSkip:
        ++skip;
        break;
      case Outcome::kError:
        ++error;
        if (error_names.size() < kNames) error_names.push_back(name);
        break;
    }
  }
};

}  // namespace msprobe
