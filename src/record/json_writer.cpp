#include "record/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/text.h"

namespace msprobe {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

/// Whether a byte stands for itself inside a JSON string: printable ASCII but '"' and '\'.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7F; ++c) plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\';
  return plain;
}();

void AppendUnicodeEscape(std::string& out, unsigned unit) {
  const char escape[] = {'\\',
                         'u',
                         kHexDigits[(unit >> 12U) & 15U],
                         kHexDigits[(unit >> 8U) & 15U],
                         kHexDigits[(unit >> 4U) & 15U],
                         kHexDigits[unit & 15U]};
  out.append(escape, sizeof(escape));
}

void AppendCodePoint(std::string& out, unsigned code_point) {
  if (code_point < 0x10000U) {
    AppendUnicodeEscape(out, code_point);
    return;
  }
  AppendUnicodeEscape(out, 0xD800U + ((code_point - 0x10000U) >> 10U));
  AppendUnicodeEscape(out, 0xDC00U + ((code_point - 0x10000U) & 0x3FFU));
}

/// Appends the escape of the first character of `text`; returns the bytes it took.
std::size_t AppendEscaped(std::string& out, std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  switch (first) {
    case '"':
      out += "\\\"";
      return 1;
    case '\\':
      out += "\\\\";
      return 1;
    case '\n':
      out += "\\n";
      return 1;
    case '\r':
      out += "\\r";
      return 1;
    case '\t':
      out += "\\t";
      return 1;
    case '\b':
      out += "\\b";
      return 1;
    case '\f':
      out += "\\f";
      return 1;
    default:
      break;
  }
  if (first < 0x80U) {
    AppendUnicodeEscape(out, first);
    return 1;
  }
  const std::size_t length = Utf8SequenceLength(text);
  if (length < 2) {
    AppendUnicodeEscape(out, 0xFFFDU);
    return 1;
  }
  unsigned code_point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  AppendCodePoint(out, code_point);
  return length;
}

template <typename Integer>
void AppendInteger(std::string& out, Integer value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value);
  out.append(digits, static_cast<std::size_t>(end.ptr - digits));
}

void AppendBool(std::string& out, bool value) {
  if (value) {
    out.append("true", 4);
  } else {
    out.append("false", 5);
  }
}

void AppendIntegers(std::string& out, const std::vector<std::int64_t>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.append(", ", 2);
    AppendInteger(out, values[i]);
  }
  out += ']';
}

/// A literal key with its separators, for example `, "Max": `.
template <std::size_t N>
void AppendKey(std::string& out, const char (&text)[N]) {
  out.append(text, N - 1);
}

template <std::size_t N>
void AppendStatisticMember(std::string& out, const char (&key)[N], const std::optional<StatisticValue>& value) {
  if (!value.has_value()) return;
  AppendKey(out, key);
  AppendJsonStatistic(out, *value);
}

template <std::size_t N>
void AppendTextMember(std::string& out, const char (&key)[N], const std::string& value) {
  if (value.empty()) return;
  AppendKey(out, key);
  AppendJsonString(out, value);
}

void AppendElement(std::string& out, const Element& element, int depth);

void AppendMembers(std::string& out, const ElementObject& members, bool first, int depth) {
  for (const Member& member : members) {
    if (!first) out.append(", ", 2);
    first = false;
    AppendJsonString(out, member.key);
    out.append(": ", 2);
    AppendElement(out, member.value, depth);
  }
}

void AppendTensor(std::string& out, const TensorElement& tensor, int depth) {
  AppendKey(out, "{\"type\": ");
  AppendJsonString(out, tensor.type);
  AppendKey(out, ", \"dtype\": ");
  AppendJsonString(out, tensor.dtype);
  AppendKey(out, ", \"shape\": ");
  AppendIntegers(out, tensor.shape);
  AppendStatisticMember(out, ", \"Max\": ", tensor.max);
  AppendStatisticMember(out, ", \"Min\": ", tensor.min);
  AppendStatisticMember(out, ", \"Mean\": ", tensor.mean);
  AppendStatisticMember(out, ", \"Norm\": ", tensor.norm);
  if (tensor.requires_grad.has_value()) {
    AppendKey(out, ", \"requires_grad\": ");
    AppendBool(out, *tensor.requires_grad);
  }
  if (tensor.stride.has_value()) {
    AppendKey(out, ", \"stride\": ");
    AppendIntegers(out, *tensor.stride);
  }
  if (tensor.storage_offset.has_value()) {
    AppendKey(out, ", \"storage_offset\": ");
    AppendInteger(out, *tensor.storage_offset);
  }
  AppendStatisticMember(out, ", \"Max_except_inf_nan\": ", tensor.finite_max);
  AppendStatisticMember(out, ", \"Min_except_inf_nan\": ", tensor.finite_min);
  AppendStatisticMember(out, ", \"Max_origin\": ", tensor.origin_max);
  AppendStatisticMember(out, ", \"Min_origin\": ", tensor.origin_min);
  AppendTextMember(out, ", \"md5\": ", tensor.md5);
  AppendTextMember(out, ", \"data_name\": ", tensor.data_name);
  AppendTextMember(out, ", \"datapath\": ", tensor.datapath);
  AppendMembers(out, tensor.extra, false, depth + 1);
  out += '}';
}

void AppendElement(std::string& out, const Element& element, int depth) {
  const auto append = [&out, depth](const auto& held) {
    using T = std::decay_t<decltype(held)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      out.append("null", 4);
    } else if constexpr (std::is_same_v<T, bool>) {
      AppendBool(out, held);
    } else if constexpr (std::is_integral_v<T>) {
      AppendInteger(out, held);
    } else if constexpr (std::is_same_v<T, double>) {
      AppendJsonDouble(out, held);
    } else if constexpr (std::is_same_v<T, std::string>) {
      AppendJsonString(out, held);
    } else if (depth >= kMaxElementDepth) {
      out.append("null", 4);
    } else if constexpr (std::is_same_v<T, ElementList>) {
      out += '[';
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (i > 0) out.append(", ", 2);
        AppendElement(out, held[i], depth + 1);
      }
      out += ']';
    } else if constexpr (std::is_same_v<T, ElementObject>) {
      out += '{';
      AppendMembers(out, held, true, depth + 1);
      out += '}';
    } else if (held == nullptr) {
      out.append("null", 4);
    } else if constexpr (std::is_same_v<T, std::unique_ptr<TensorElement>>) {
      // The lists of a tensor are one level deeper.
      if (depth + 1 >= kMaxElementDepth) {
        out.append("null", 4);
      } else {
        AppendTensor(out, *held, depth);
      }
    } else {
      AppendKey(out, "{\"type\": ");
      AppendJsonString(out, held->type);
      AppendKey(out, ", \"value\": ");
      AppendElement(out, held->value, depth + 1);
      out += '}';
    }
  };
  std::visit(append, element.value);
}

}  // namespace

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  std::size_t start = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    if (kPlain[static_cast<unsigned char>(text[position])]) {
      ++position;
      continue;
    }
    out.append(text, start, position - start);
    position += AppendEscaped(out, text.substr(position));
    start = position;
  }
  out.append(text, start, position - start);
  out += '"';
}

void AppendJsonDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  // Fixed notation in the range where Python's repr uses it; the longest is 17 digits, four zeros, sign and point.
  const double magnitude = std::fabs(value);
  const bool fixed = value == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), value, fixed ? std::chars_format::fixed : std::chars_format::scientific);
  const auto length = static_cast<std::size_t>(end.ptr - text);
  out.append(text, length);
  if (fixed && std::memchr(text, '.', length) == nullptr) out.append(".0", 2);
}

void AppendJsonStatistic(std::string& out, const StatisticValue& value) {
  const auto append = [&out](auto held) {
    using T = decltype(held);
    if constexpr (std::is_same_v<T, std::monostate>) {
      out.append("null", 4);
    } else if constexpr (std::is_same_v<T, bool>) {
      AppendBool(out, held);
    } else if constexpr (std::is_same_v<T, double>) {
      AppendJsonDouble(out, held);
    } else {
      AppendInteger(out, held);
    }
  };
  std::visit(append, value);
}

void AppendJson(std::string& out, const Element& element) { AppendElement(out, element, 0); }

void AppendJson(std::string& out, const TensorElement& tensor) { AppendTensor(out, tensor, 0); }

void AppendJson(std::string& out, const Record& record) {
  out += '{';
  AppendMembers(out, record.sections, true, 1);
  out += '}';
}

}  // namespace msprobe
