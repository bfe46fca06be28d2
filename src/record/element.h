#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "numerics/statistics.h"

namespace msprobe {

struct Element;
struct Member;

using ElementList = std::vector<Element>;   ///< list or tuple: a JSON array
using ElementObject = std::vector<Member>;  ///< dict, or an object we do not interpret: keys in order

/// A tensor as dump.json describes it (spec dump_format.md 5.1).
struct TensorElement {
  std::string type = "torch.Tensor";
  std::string dtype;  ///< as recorded, "torch.float32"
  std::vector<std::int64_t> shape;
  /// Absent where the key is missing; StatisticValue{} (monostate) where it is null.
  std::optional<StatisticValue> max, min, mean, norm;
  std::optional<bool> requires_grad;
  std::optional<StatisticValue> finite_max, finite_min;  ///< "Max_except_inf_nan", "Min_except_inf_nan" (1.0.4)
  std::optional<StatisticValue> origin_max, origin_min;  ///< "Max_origin", "Min_origin" (older files)
  std::optional<std::vector<std::int64_t>> stride;       ///< in elements; only when not contiguous with offset 0
  std::optional<std::int64_t> storage_offset;
  std::string md5;        ///< empty: absent
  std::string data_name;  ///< empty: absent
  std::string datapath;   ///< empty: absent (older files)
  ElementObject extra;    ///< keys we do not interpret, kept so that a dump written and read again is equal
  /// While collecting: statistics that are on the way, empty until they are known. Never written.
  std::shared_ptr<const std::optional<Statistics>> late;
};

/// `{"type": T, "value": V}`: int, float, bool, str, slice, ellipsis, torch.Size, torch.dtype, torch.device, numpy
/// scalars.
struct TypedElement;

/// One argument, output, gradient or part of one. A bare bool, integer, double or string occurs inside
/// TypedElement::value and in files of other tools only.
struct Element {
  using Value = std::variant<std::monostate,  // null
                             bool, std::int64_t, std::uint64_t, double, std::string, ElementList, ElementObject,
                             std::unique_ptr<TypedElement>, std::unique_ptr<TensorElement>>;
  Value value;

  Element();
  ~Element();
  Element(Element&&) noexcept;
  Element& operator=(Element&&) noexcept;
  template <typename T>
  requires(!std::is_same_v<std::decay_t<T>, Element>) explicit Element(T v) : value(std::move(v)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
  const ElementList* list() const { return std::get_if<ElementList>(&value); }
  const ElementObject* object() const { return std::get_if<ElementObject>(&value); }
  const TypedElement* typed() const;
  const TensorElement* tensor() const;
};

struct Member {
  std::string key;
  Element value;
};

struct TypedElement {
  std::string type;
  Element value;
};

/// Shorthand: `Typed("int", 3)`.
template <typename T>
Element Typed(std::string type, T value) {
  auto typed = std::make_unique<TypedElement>();
  typed->type = std::move(type);
  typed->value = Element(std::move(value));
  return Element(std::move(typed));
}

/// Equality of everything, NaN equal to NaN.
bool operator==(const Element& a, const Element& b);
bool operator==(const TensorElement& a, const TensorElement& b);

/// One entry of "data". Sections in order: input_args, input_kwargs, output (forward); input, output (backward); ...
struct Record {
  std::string name;
  ElementObject sections;

  const Element* Section(std::string_view key) const;  ///< null if absent
};

/// The keys before "data". A missing key stays absent; `extra` holds further ones.
struct DumpHeader {
  std::string task;
  std::string level;
  std::string framework;                     ///< empty: absent (1.0.4)
  std::optional<std::string> dump_data_dir;  ///< absent: null or missing
  bool has_dump_data_dir = false;            ///< whether the key is there at all
  ElementObject extra;
};

}  // namespace msprobe
