#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "record/element.h"

namespace msprobe {

/// Path of a file in tests/data.
inline std::string TestData(const std::string& name) { return std::string(MSPROBE_TEST_CASES) + "/../data/" + name; }

/// Makes random elements and records of every kind, all of which have one spelling in JSON.
class RandomElements {
 public:
  explicit RandomElements(std::uint32_t seed) : random_(seed) {}

  Element Any(int depth);
  TensorElement Tensor(int depth);
  Record AnyRecord(std::string name);
  std::string Text();
  double Double();
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

 private:
  std::int64_t Integer() { return static_cast<std::int64_t>(random_()) >> Below(63); }
  StatisticValue Statistic();
  Element Plain(int depth);

  std::mt19937_64 random_;
};

}  // namespace msprobe
