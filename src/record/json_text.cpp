#include "record/json_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Whether a byte inside a JSON string stands for itself without a further look.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x80; ++c) plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return plain;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::string& out, unsigned code_point) {
  if (code_point < 0x80U) {
    out += static_cast<char>(code_point);
    return;
  }
  if (code_point < 0x800U) {
    out += static_cast<char>(0xC0U | (code_point >> 6U));
  } else if (code_point < 0x10000U) {
    out += static_cast<char>(0xE0U | (code_point >> 12U));
    out += static_cast<char>(0x80U | ((code_point >> 6U) & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (code_point >> 18U));
    out += static_cast<char>(0x80U | ((code_point >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((code_point >> 6U) & 0x3FU));
  }
  out += static_cast<char>(0x80U | (code_point & 0x3FU));
}

/// What a number outside the range of double becomes: infinity or zero, by the decimal position of its first digit that
/// is not zero. `text` is a JSON number without sign.
double OutOfRange(std::string_view text) {
  const std::size_t exponent_at = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent_at);
  const std::size_t first_digit = mantissa.find_first_not_of("0.");
  if (first_digit == std::string_view::npos) return 0;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::int64_t exponent = 0;
  if (exponent_at != std::string_view::npos) {
    std::string_view digits = text.substr(exponent_at + 1);
    const bool negative = digits.front() == '-';
    if (digits.front() == '-' || digits.front() == '+') digits.remove_prefix(1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (parsed.ec != std::errc()) exponent = std::numeric_limits<std::int64_t>::max() / 2;
    if (negative) exponent = -exponent;
  }
  const auto position = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first_digit);
  return position + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace

int JsonText::PeekToken() {
  while (next_ < end_ && (*next_ == ' ' || *next_ == '\n' || *next_ == '\r' || *next_ == '\t')) ++next_;
  return next_ < end_ ? static_cast<unsigned char>(*next_) : -1;
}

bool JsonText::ReadString(std::string& out) {
  out.clear();
  if (next_ == end_ || *next_ != '"') return Fail("a string is expected");
  ++next_;
  for (;;) {
    const char* run = next_;
    while (next_ < end_ && kPlain[static_cast<unsigned char>(*next_)]) ++next_;
    out.append(run, static_cast<std::size_t>(next_ - run));
    if (next_ == end_) return Fail("the text ends inside a string");
    const auto byte = static_cast<unsigned char>(*next_);
    if (byte == '"') {
      ++next_;
      return true;
    }
    if (byte == '\\') {
      if (!ReadEscape(out)) return false;
    } else if (byte < 0x20U) {
      return Fail("a control character stands inside a string");
    } else {
      const std::size_t length = Utf8SequenceLength({next_, static_cast<std::size_t>(end_ - next_)});
      out += length == 0 ? kReplacement : std::string_view(next_, length);
      next_ += length == 0 ? 1 : length;
    }
  }
}

bool JsonText::ReadHex4(unsigned& unit) {
  if (end_ - next_ < 4) return Fail("the text ends inside an escape");
  const auto parsed = std::from_chars(next_, next_ + 4, unit, 16);
  if (parsed.ec != std::errc() || parsed.ptr != next_ + 4) return Fail("an escape is not four hexadecimal digits");
  next_ += 4;
  return true;
}

bool JsonText::ReadEscape(std::string& out) {
  if (end_ - next_ < 2) return Fail("the text ends inside an escape");
  const char kind = next_[1];
  next_ += 2;
  switch (kind) {
    case '"':
    case '\\':
    case '/':
      out += kind;
      return true;
    case 'b':
      out += '\b';
      return true;
    case 'f':
      out += '\f';
      return true;
    case 'n':
      out += '\n';
      return true;
    case 'r':
      out += '\r';
      return true;
    case 't':
      out += '\t';
      return true;
    case 'u':
      break;
    default:
      return Fail("an escape is unknown");
  }
  unsigned unit = 0;
  if (!ReadHex4(unit)) return false;
  if (unit < 0xD800U || unit > 0xDFFFU) {
    AppendUtf8(out, unit);
    return true;
  }
  unsigned low = 0;
  if (unit < 0xDC00U && end_ - next_ >= 6 && next_[0] == '\\' && next_[1] == 'u') {
    const char* second = next_;
    next_ += 2;
    if (!ReadHex4(low)) return false;
    if (low >= 0xDC00U && low <= 0xDFFFU) {
      AppendUtf8(out, 0x10000U + ((unit - 0xD800U) << 10U) + (low - 0xDC00U));
      return true;
    }
    next_ = second;
  }
  out += kReplacement;
  return true;
}

bool JsonText::Consume(std::string_view word) {
  if (!std::string_view(next_, static_cast<std::size_t>(end_ - next_)).starts_with(word)) {
    return Fail("a value is expected");
  }
  next_ += word.size();
  return true;
}

bool JsonText::ReadScalar(StatisticValue& out) {
  switch (next_ == end_ ? '\0' : *next_) {
    case 'n':
      out = std::monostate();
      return Consume("null");
    case 't':
      out = true;
      return Consume("true");
    case 'f':
      out = false;
      return Consume("false");
    case 'N':
      out = std::numeric_limits<double>::quiet_NaN();
      return Consume("NaN");
    case 'I':
      out = std::numeric_limits<double>::infinity();
      return Consume("Infinity");
    default:
      return ReadNumber(out);
  }
}

bool JsonText::ReadNumber(StatisticValue& out) {
  const char* const start = next_;
  const bool negative = next_ < end_ && *next_ == '-';
  if (negative) ++next_;
  if (negative && next_ < end_ && *next_ == 'I') {
    out = -std::numeric_limits<double>::infinity();
    return Consume("Infinity");
  }
  const char* const digits = next_;
  while (next_ < end_ && IsDigit(*next_)) ++next_;
  if (next_ == digits) return Fail("a value is expected");
  if (*digits == '0' && next_ - digits > 1) return Fail("a number starts with zeros");
  bool integral = true;
  if (next_ < end_ && *next_ == '.') {
    integral = false;
    const char* const fraction = ++next_;
    while (next_ < end_ && IsDigit(*next_)) ++next_;
    if (next_ == fraction) return Fail("a number lacks digits after its point");
  }
  if (next_ < end_ && (*next_ == 'e' || *next_ == 'E')) {
    integral = false;
    ++next_;
    if (next_ < end_ && (*next_ == '+' || *next_ == '-')) ++next_;
    const char* const exponent = next_;
    while (next_ < end_ && IsDigit(*next_)) ++next_;
    if (next_ == exponent) return Fail("a number lacks digits in its exponent");
  }
  if (integral) {
    std::int64_t small = 0;
    if (std::from_chars(start, next_, small).ec == std::errc()) {
      out = small;
      return true;
    }
    std::uint64_t large = 0;
    if (!negative && std::from_chars(start, next_, large).ec == std::errc()) {
      out = large;
      return true;
    }
  }
  double number = 0;
  if (std::from_chars(start, next_, number).ec == std::errc::result_out_of_range) {
    number = OutOfRange({digits, static_cast<std::size_t>(next_ - digits)});
    if (negative) number = -number;
  }
  out = number;
  return true;
}

}  // namespace msprobe
