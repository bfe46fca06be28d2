#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace msprobe {
namespace {

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool IsPercentControl(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return false;
  const std::string code = ToLowerAscii(text.substr(1, 2));
  return code == "08" || code == "0a" || code == "0b" || code == "0c" || code == "0d" || code == "7f";
}

// Characters that break a line or reorder it on a terminal: C1 controls, U+2028/9, direction marks, isolates and
// overrides.
bool IsUnsafeSequence(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
  if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]);
  const auto third = static_cast<unsigned char>(sequence[2]);
  if (second == 0x80) return third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE);
  return second == 0x81 && third >= 0xA6 && third <= 0xA9;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string ToLowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    pieces.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return pieces;
    start = end + 1;
  }
}

std::string Join(const std::vector<std::string>& items, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += separator;
    out += items[i];
  }
  return out;
}

std::optional<double> ParseDouble(std::string_view text) {
  text = Trim(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) return std::nullopt;
  }
  if (text.empty() || text.back() == ')') return std::nullopt;  // from_chars would take "nan(...)"
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // Too large or too small for a double: the exponent's sign tells which, without one the digits before the point do.
  const bool negative = text.front() == '-';
  const std::size_t exponent = text.find_first_of("eE");
  bool tiny = false;
  const std::string_view digits = text.substr(negative ? 1 : 0, exponent - (negative ? 1 : 0));
  if (exponent != std::string_view::npos) {
    tiny = text[exponent + 1] == '-';
  } else {
    tiny = digits.starts_with('.') || digits.starts_with("0.");
  }
  const double magnitude = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  return negative ? -magnitude : magnitude;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    std::size_t best = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      best = std::min(best, row[j]);
    }
    if (best > limit) return limit + 1;
  }
  return std::min(row.back(), limit + 1);
}

std::string Nearest(std::string_view text, const std::vector<std::string>& known) {
  if (text.size() > 256) return {};  // no name is that long; keeps the cost bounded
  std::string_view nearest;
  const std::string lower = ToLowerAscii(text);
  std::size_t limit = std::max<std::size_t>(1, text.size() / 3);
  for (const std::string& candidate : known) {
    const std::size_t distance = EditDistance(lower, ToLowerAscii(candidate), limit);
    if (distance > limit || distance >= candidate.size()) continue;
    nearest = candidate;
    if (distance == 0) break;
    limit = distance - 1;  // only a nearer one replaces it
  }
  return std::string(nearest);
}

std::size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    const auto first = static_cast<unsigned char>(text[0]);
    std::size_t used = std::max<std::size_t>(1, length);
    if (length == 0 || first < 0x20 || first == 0x7F || IsUnsafeSequence(text.substr(0, length))) {
      out += '_';
    } else if (IsPercentControl(text)) {
      out += '_';
      used = 3;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(used);
  }
  return out;
}

std::string Excerpt(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return Printable(text);
  std::size_t head = limit / 2;
  std::size_t tail = text.size() - limit / 2;
  const auto is_continuation = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80; };
  while (head > 0 && is_continuation(head)) --head;
  while (tail < text.size() && is_continuation(tail)) ++tail;
  return Printable(text.substr(0, head)) + "..." + Printable(text.substr(tail));
}

}  // namespace msprobe
