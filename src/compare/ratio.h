#pragma once

namespace msprobe {

/// A device's value against the benchmark's (precision_standards.md 5.4).
struct Ratio {
  enum class Note { kNone, kBothInfinite, kInfinite, kBothNan, kOneNan };

  double value = 0;        ///< |device / benchmark|; NaN where one of them is not finite
  bool consistent = true;  ///< false: not finite on one side only, or infinities that differ
  Note note = Note::kNone;
};

/// (0, 0) is 1 and (x, 0) is 10000 (decisions 35).
Ratio ComputeRatio(double device, double benchmark);

}  // namespace msprobe
