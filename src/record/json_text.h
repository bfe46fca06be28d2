#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "record/element.h"

namespace msprobe {

/// Reads the tokens of JSON text that is in memory. Written by hand because the well-kept parsers refuse what dumps
/// hold: bare NaN and Infinity (and nothing like "Inf"), half of a surrogate pair, integers of 64 bits beside doubles;
/// and because a reader of torn files must know the byte at which the text breaks.
///
/// A function that returns false leaves `problem()` and `position()` at what is wrong.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : begin_(text.data()), next_(begin_), end_(begin_ + text.size()) {}

  /// Skips white space; the next byte, or -1 at the end.
  int PeekToken();
  void Advance() { ++next_; }

  /// A string with its quotes, as UTF-8: bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD.
  bool ReadString(std::string& out);

  /// null, true, false or a number: integers as int64, else uint64, else double; fractions and exponents as the nearest
  /// double (beyond its range: infinity or zero); the tokens NaN, Infinity, -Infinity.
  bool ReadScalar(StatisticValue& out);

  std::size_t position() const { return static_cast<std::size_t>(next_ - begin_); }
  bool Fail(const char* problem) {
    problem_ = problem;
    return false;
  }
  const char* problem() const { return problem_; }

 private:
  bool ReadEscape(std::string& out);
  bool ReadHex4(unsigned& unit);
  bool ReadNumber(StatisticValue& out);
  bool Consume(std::string_view word);

  const char* begin_;
  const char* next_;
  const char* end_;
  const char* problem_ = "";
};

}  // namespace msprobe
