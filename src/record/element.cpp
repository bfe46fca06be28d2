#include "record/element.h"

#include <cmath>
#include <type_traits>

namespace msprobe {

Element::Element() = default;
Element::~Element() = default;
Element::Element(Element&&) noexcept = default;
Element& Element::operator=(Element&&) noexcept = default;

const TypedElement* Element::typed() const {
  const auto* held = std::get_if<std::unique_ptr<TypedElement>>(&value);
  return held == nullptr ? nullptr : held->get();
}

const TensorElement* Element::tensor() const {
  const auto* held = std::get_if<std::unique_ptr<TensorElement>>(&value);
  return held == nullptr ? nullptr : held->get();
}

const Element* Record::Section(std::string_view key) const {
  for (const Member& section : sections) {
    if (section.key == key) return &section.value;
  }
  return nullptr;
}

namespace {

bool SameDouble(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool Same(const StatisticValue& a, const StatisticValue& b) {
  if (a.index() != b.index()) return false;
  if (const double* number = std::get_if<double>(&a)) return SameDouble(*number, std::get<double>(b));
  return a == b;
}

bool Same(const std::optional<StatisticValue>& a, const std::optional<StatisticValue>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || Same(*a, *b));
}

bool Same(const ElementList& a, const ElementList& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}

bool Same(const ElementObject& a, const ElementObject& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].key != b[i].key || !(a[i].value == b[i].value)) return false;
  }
  return true;
}

}  // namespace

bool operator==(const TensorElement& a, const TensorElement& b) {
  return a.type == b.type && a.dtype == b.dtype && a.shape == b.shape && Same(a.max, b.max) && Same(a.min, b.min) &&
         Same(a.mean, b.mean) && Same(a.norm, b.norm) && a.requires_grad == b.requires_grad &&
         Same(a.finite_max, b.finite_max) && Same(a.finite_min, b.finite_min) && Same(a.origin_max, b.origin_max) &&
         Same(a.origin_min, b.origin_min) && a.stride == b.stride && a.storage_offset == b.storage_offset &&
         a.md5 == b.md5 && a.data_name == b.data_name && a.datapath == b.datapath && Same(a.extra, b.extra);
}

bool operator==(const Element& a, const Element& b) {
  if (a.value.index() != b.value.index()) return false;
  return std::visit(
      [&b](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        const T& other = std::get<T>(b.value);
        if constexpr (std::is_same_v<T, double>) {
          return SameDouble(held, other);
        } else if constexpr (std::is_same_v<T, ElementList> || std::is_same_v<T, ElementObject>) {
          return Same(held, other);
        } else if constexpr (std::is_same_v<T, std::unique_ptr<TensorElement>>) {
          return held == other || (held && other && *held == *other);
        } else if constexpr (std::is_same_v<T, std::unique_ptr<TypedElement>>) {
          return held == other || (held && other && held->type == other->type && held->value == other->value);
        } else {
          return held == other;
        }
      },
      a.value);
}

}  // namespace msprobe
