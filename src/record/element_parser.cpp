#include "record/element_parser.h"

#include <array>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "record/json_text.h"
#include "record/json_writer.h"

namespace msprobe {
namespace {

std::optional<StatisticValue> AsStatistic(const Element& element) {
  return std::visit(
      [](const auto& held) -> std::optional<StatisticValue> {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_constructible_v<StatisticValue, std::in_place_type_t<T>, const T&>) {
          return StatisticValue(std::in_place_type<T>, held);
        } else {
          return std::nullopt;
        }
      },
      element.value);
}

std::optional<std::vector<std::int64_t>> AsIntegers(const Element& element) {
  const ElementList* list = element.list();
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> integers;
  integers.reserve(list->size());
  for (const Element& item : *list) {
    const auto* integer = std::get_if<std::int64_t>(&item.value);
    if (integer == nullptr) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

/// "torch.Tensor", "torch.nn.parameter.Parameter", "mindspore.Tensor", the special tensors of newer collectors.
bool IsTensorType(std::string_view type) {
  return type.starts_with("torch.") || type.starts_with("mindspore.") || type == "numpy.ndarray" ||
         type.ends_with("Tensor");
}

/// Takes the member into `field` if it has the field's form and was not there before.
template <typename Field, typename Value>
bool Take(std::optional<Field>& field, std::optional<Value> value) {
  if (field.has_value() || !value.has_value()) return false;
  field = std::move(*value);
  return true;
}

/// An empty text means absent, so an empty member stays among the uninterpreted ones.
bool Take(std::string& field, Element& element) {
  auto* text = std::get_if<std::string>(&element.value);
  if (text == nullptr || text->empty() || !field.empty()) return false;
  field = std::move(*text);
  return true;
}

template <typename T>
std::optional<T> As(const Element& element) {
  const T* held = std::get_if<T>(&element.value);
  return held == nullptr ? std::nullopt : std::optional<T>(*held);
}

/// Whether the member was understood (dump_format.md 5.1 and 8); "type", "dtype" and "shape" are the caller's.
bool TakeTensorMember(TensorElement& tensor, Member& member) {
  const std::string& key = member.key;
  Element& value = member.value;
  if (key == "Max") return Take(tensor.max, AsStatistic(value));
  if (key == "Min") return Take(tensor.min, AsStatistic(value));
  if (key == "Mean") return Take(tensor.mean, AsStatistic(value));
  if (key == "Norm") return Take(tensor.norm, AsStatistic(value));
  if (key == "requires_grad") return Take(tensor.requires_grad, As<bool>(value));
  if (key == "md5") return Take(tensor.md5, value);
  if (key == "data_name") return Take(tensor.data_name, value);
  if (key == "stride") return Take(tensor.stride, AsIntegers(value));
  if (key == "storage_offset") return Take(tensor.storage_offset, As<std::int64_t>(value));
  if (key == "Max_except_inf_nan") return Take(tensor.finite_max, AsStatistic(value));
  if (key == "Min_except_inf_nan") return Take(tensor.finite_min, AsStatistic(value));
  if (key == "Max_origin") return Take(tensor.origin_max, AsStatistic(value));
  if (key == "Min_origin") return Take(tensor.origin_min, AsStatistic(value));
  if (key == "datapath") return Take(tensor.datapath, value);
  return false;
}

/// Bounds the memory that a hostile text can ask for: an element takes 20 times the bytes of its shortest text.
constexpr std::size_t kMaxChildren = 20'000'000;

using Members = std::vector<Member>::iterator;

/// A tensor if the members describe one: a tensor's type name, a dtype and a shape.
std::unique_ptr<TensorElement> MakeTensor(Members first, Members last) {
  Members type = last;
  Members dtype = last;
  Members shape = last;
  for (Members member = first; member != last; ++member) {
    if (type == last && member->key == "type") type = member;
    if (dtype == last && member->key == "dtype") dtype = member;
    if (shape == last && member->key == "shape") shape = member;
  }
  if (type == last || dtype == last || shape == last) return nullptr;
  auto* type_name = std::get_if<std::string>(&type->value.value);
  auto* dtype_name = std::get_if<std::string>(&dtype->value.value);
  if (type_name == nullptr || dtype_name == nullptr || !IsTensorType(*type_name)) return nullptr;
  auto sizes = AsIntegers(shape->value);
  if (!sizes.has_value()) return nullptr;

  auto tensor = std::make_unique<TensorElement>();
  tensor->type = std::move(*type_name);
  tensor->dtype = std::move(*dtype_name);
  tensor->shape = std::move(*sizes);
  for (Members member = first; member != last; ++member) {
    if (member == type || member == dtype || member == shape) continue;
    if (!TakeTensorMember(*tensor, *member)) tensor->extra.push_back(std::move(*member));
  }
  return tensor;
}

/// A typed element if the members are exactly a type name and a value.
std::unique_ptr<TypedElement> MakeTyped(Members first, Members last) {
  if (last - first != 2) return nullptr;
  Members type = first;
  Members value = first + 1;
  if (type->key != "type") std::swap(type, value);
  if (type->key != "type" || value->key != "value") return nullptr;
  auto* type_name = std::get_if<std::string>(&type->value.value);
  if (type_name == nullptr) return nullptr;
  auto typed = std::make_unique<TypedElement>();
  typed->type = std::move(*type_name);
  typed->value = std::move(value->value);
  return typed;
}

Error ParseError(const std::string& what) { return {ErrorCode::kInput, what}; }

}  // namespace

Element ElementParser::Close(const Container& container, bool raw) {
  const Members first = slots_.begin() + static_cast<std::ptrdiff_t>(container.first_child);
  const Members last = slots_.end();
  if (!container.is_object) {
    ElementList list;
    list.reserve(static_cast<std::size_t>(last - first));
    for (Members item = first; item != last; ++item) list.push_back(std::move(item->value));
    return Element(std::move(list));
  }
  if (!raw) {
    if (auto typed = MakeTyped(first, last)) return Element(std::move(typed));
    if (auto tensor = MakeTensor(first, last)) return Element(std::move(tensor));
  }
  return Element(ElementObject(std::make_move_iterator(first), std::make_move_iterator(last)));
}

std::string ElementParser::Parse(std::string_view text, bool raw_root) {
  slots_.clear();
  open_.clear();
  slots_.emplace_back();
  JsonText json(text);
  const auto problem = [&json](const char* what) {
    return std::string(what) + " at byte " + std::to_string(json.position());
  };
  // Appends the slot of the next child, with its key in an object.
  const auto start_child = [this, &json](bool is_object) {
    if (slots_.size() >= kMaxChildren) return json.Fail("more values than can be held");
    slots_.emplace_back();
    if (!is_object) return true;
    json.PeekToken();
    if (!json.ReadString(slots_.back().key)) return false;
    if (json.PeekToken() != ':') return json.Fail("a ':' is expected");
    json.Advance();
    return true;
  };
  const auto close = [this, raw_root] {
    const Container container = open_.back();
    open_.pop_back();
    Element closed = Close(container, raw_root && open_.empty());
    slots_.resize(container.first_child);
    slots_.back().value = std::move(closed);
  };

  for (;;) {
    // One value into the last slot.
    const int token = json.PeekToken();
    if (token == '{' || token == '[') {
      if (open_.size() == kMaxElementDepth) return problem("values are nested deeper than 400 levels");
      open_.push_back({token == '{', slots_.size()});
      json.Advance();
      if (json.PeekToken() != (token == '{' ? '}' : ']')) {
        if (!start_child(token == '{')) return problem(json.problem());
        continue;
      }
      json.Advance();
      close();
    } else if (token == '"') {
      std::string& held = slots_.back().value.value.emplace<std::string>();
      if (!json.ReadString(held)) return problem(json.problem());
    } else {
      StatisticValue scalar;
      if (!json.ReadScalar(scalar)) return problem(json.problem());
      std::visit([this](auto held) { slots_.back().value.value = held; }, scalar);
    }
    // What follows it: the ends of containers, then a comma and the next child, or the end.
    bool more = false;
    while (!open_.empty()) {
      const bool is_object = open_.back().is_object;
      const int next = json.PeekToken();
      if (next == ',') {
        json.Advance();
        if (!start_child(is_object)) return problem(json.problem());
        more = true;
        break;
      }
      if (next != (is_object ? '}' : ']'))
        return problem(is_object ? "a ',' or '}' is expected" : "a ',' or ']' is expected");
      json.Advance();
      close();
    }
    if (more) continue;
    if (json.PeekToken() != -1) return problem("text follows the value");
    return {};
  }
}

Result<Element> ElementParser::ParseElement(std::string_view text) {
  if (const std::string wrong = Parse(text, false); !wrong.empty()) return ParseError("not valid JSON: " + wrong);
  return std::move(slots_.front().value);
}

Result<Record> ElementParser::ParseRecord(std::string name, std::string_view text) {
  if (const std::string wrong = Parse(text, true); !wrong.empty()) {
    return ParseError("record " + Excerpt(name) + " is not valid JSON: " + wrong);
  }
  auto* sections = std::get_if<ElementObject>(&slots_.front().value.value);
  if (sections == nullptr) return ParseError("record " + Excerpt(name) + " is not an object");
  Record record;
  record.name = std::move(name);
  record.sections = std::move(*sections);
  return record;
}

}  // namespace msprobe
