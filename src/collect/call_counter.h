#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace msprobe {

/// Numbers the calls of each API and module from 0 in every step (pytorch_dump.md 6.2): only outermost calls made while
/// collecting count, and a call that raises gives its number back.
class CallCounter {
 public:
  /// Registers "Prefix.api" and returns its index; a name that is known keeps the one it has.
  std::size_t Register(std::string full_name) {
    const auto [known, is_new] = indices_.emplace(std::move(full_name), names_.size());
    if (is_new) {
      names_.push_back(known->first);
      counts_.push_back(0);
    }
    return known->second;
  }
  const std::string& name(std::size_t api) const { return names_[api]; }
  std::uint64_t Take(std::size_t api) {
    any_ = true;
    return counts_[api]++;
  }
  /// Only if no later call has taken a number meanwhile (another thread), so that numbers stay unique.
  void GiveBack(std::size_t api, std::uint64_t number) {
    if (counts_[api] == number + 1) {
      counts_[api] = number;
    }
  }
  /// Whether anything was called since the last Reset, calls that raised included.
  bool any() const { return any_; }
  void Reset() {
    counts_.assign(counts_.size(), 0);
    any_ = false;
  }

 private:
  std::unordered_map<std::string, std::size_t> indices_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> counts_;
  bool any_ = false;
};

}  // namespace msprobe
