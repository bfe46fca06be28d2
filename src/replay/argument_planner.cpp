#include "replay/argument_planner.h"

#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "replay/index_rules.h"

namespace msprobe {
namespace {

constexpr int kMaxDepth = 400;

class ArgumentPlanner {
 public:
  ArgumentPlanner(const TensorContext& context, std::vector<TensorSpec>& tensors)
      : context_(context), tensors_(tensors) {}

  Result<Argument> Plan(const Element& element, const std::string& position, int depth = 0) {
    if (depth > kMaxDepth) return Fail(position, "nested deeper than 400 levels");
    if (const TensorElement* tensor = element.tensor()) return PlanTensorArgument(*tensor, position);
    if (const TypedElement* typed = element.typed()) return PlanTyped(*typed, position, depth);
    if (const ElementList* list = element.list()) {
      return PlanItems(Argument::Kind::kList, *list, position, depth);
    }
    if (const ElementObject* object = element.object()) return PlanObject(*object, position, depth);
    return PlanPlain(element, position);
  }

 private:
  static Error Fail(const std::string& position, const std::string& what) {
    return Error{ErrorCode::kInput, position + ": " + what};
  }

  Result<Argument> PlanTensorArgument(const TensorElement& tensor, const std::string& position) {
    if (tensor.type.starts_with("numpy")) return Fail(position, "a numpy array cannot be rebuilt from its record");
    auto spec = PlanTensor(tensor, position, context_);
    if (!spec.ok()) return spec.error();
    Argument argument;
    argument.kind = Argument::Kind::kTensor;
    argument.tensor = tensors_.size();
    tensors_.push_back(std::move(spec.value()));
    return argument;
  }

  Result<Argument> PlanItems(Argument::Kind kind, const ElementList& list, const std::string& position, int depth) {
    Argument argument;
    argument.kind = kind;
    argument.items.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto item = Plan(list[i], position + "." + std::to_string(i), depth + 1);
      if (!item.ok()) return item.error();
      argument.items.push_back(std::move(item.value()));
    }
    return argument;
  }

  // An object that R's parser left as it is: a dict, an object described by other keys than "value", or {} for what the
  // collector could not describe.
  Result<Argument> PlanObject(const ElementObject& object, const std::string& position, int depth) {
    if (object.empty()) return Fail(position, "the dump does not say what this argument was");
    Argument argument;
    for (const Member& member : object) {
      if (member.key == "type" || member.key == "class_type") {
        const std::string* type = std::get_if<std::string>(&member.value.value);
        if (type != nullptr && *type == "torch.memory_format") return PlanMemoryFormat(object, position);
        return Fail(position, "a value of type \"" + Excerpt(type == nullptr ? "?" : *type, 60) +
                                  "\" cannot be rebuilt from its record");
      }
    }
    argument.kind = Argument::Kind::kDict;
    for (const Member& member : object) {
      auto item = Plan(member.value, position + "." + member.key, depth + 1);
      if (!item.ok()) return item.error();
      argument.keys.push_back(member.key);
      argument.items.push_back(std::move(item.value()));
    }
    return argument;
  }

  Result<Argument> PlanMemoryFormat(const ElementObject& object, const std::string& position) {
    for (const Member& member : object) {
      const std::string* text = std::get_if<std::string>(&member.value.value);
      if (member.key != "format" || text == nullptr) continue;
      for (const char* known : {"contiguous_format", "channels_last", "channels_last_3d", "preserve_format"}) {
        if (*text == known) return TextArgument(Argument::Kind::kMemoryFormat, *text);
      }
    }
    return Fail(position, "an unknown memory format");
  }

  static Argument TextArgument(Argument::Kind kind, std::string text) {
    Argument argument;
    argument.kind = kind;
    argument.text = std::move(text);
    return argument;
  }

  Result<Argument> PlanTyped(const TypedElement& typed, const std::string& position, int depth) {
    const std::string& type = typed.type;
    if (type == "slice") return PlanSlice(typed.value, position, depth);
    if (type == "complex") return PlanComplex(typed.value, position, depth);
    if (type == "ellipsis") return TextArgument(Argument::Kind::kEllipsis, "");
    if (type == "torch.Size") {
      const ElementList* sizes = typed.value.list();
      if (sizes == nullptr) return Fail(position, "a torch.Size without its list");
      auto argument = PlanItems(Argument::Kind::kSize, *sizes, position, depth);
      if (!argument.ok()) return argument;
      for (const Argument& item : argument.value().items) {
        if (item.kind != Argument::Kind::kInteger)
          return Fail(position, "a torch.Size holds something else than integers");
      }
      return argument;
    }
    const std::string* text = std::get_if<std::string>(&typed.value.value);
    if (type == "torch.dtype") {
      if (text == nullptr) return Argument{};  // dtype=None
      const auto dtype = ParseDType(*text);
      if (!dtype) return Fail(position, "dtype \"" + Excerpt(*text, 60) + "\" cannot be replayed");
      return TextArgument(Argument::Kind::kDType, std::string(ShortName(*dtype)));
    }
    if (type == "torch.device") {
      if (typed.value.is_null()) return Argument{};
      return TextArgument(Argument::Kind::kDevice, text == nullptr ? "" : *text);
    }
    if (type == "torch.memory_format" && text != nullptr) {
      return TextArgument(Argument::Kind::kMemoryFormat, *text);
    }
    if (type.find("ProcessGroup") != std::string::npos || type.find("ReduceOp") != std::string::npos) {
      return Fail(position, "a value of type \"" + Excerpt(type, 60) + "\" cannot be rebuilt from its record");
    }
    return Plan(typed.value, position, depth + 1);
  }

  Result<Argument> PlanComplex(const Element& value, const std::string& position, int depth) {
    const ElementList* parts = value.list();
    if (parts == nullptr || parts->size() != 2)
      return Fail(position, "a complex number needs a real and an imaginary part");
    auto argument = PlanItems(Argument::Kind::kComplex, *parts, position, depth);
    if (!argument.ok()) return argument;
    for (const Argument& part : argument.value().items) {
      if (part.kind != Argument::Kind::kFloat)
        return Fail(position, "a complex number holds something else than numbers");
    }
    return argument;
  }

  Result<Argument> PlanSlice(const Element& value, const std::string& position, int depth) {
    const ElementList* parts = value.list();
    if (parts == nullptr || parts->size() != 3) return Fail(position, "a slice needs start, stop and step");
    auto argument = PlanItems(Argument::Kind::kSlice, *parts, position, depth);
    if (!argument.ok()) return argument;
    for (const Argument& part : argument.value().items) {
      if (part.kind != Argument::Kind::kNone && part.kind != Argument::Kind::kInteger) {
        return Fail(position, "a slice holds something else than integers");
      }
    }
    return argument;
  }

  // Builtin values: inside {"type", "value"}, or bare in files of other tools.
  Result<Argument> PlanPlain(const Element& element, const std::string& position) {
    Argument argument;
    if (element.is_null()) return argument;
    if (const bool* flag = std::get_if<bool>(&element.value)) {
      argument.kind = Argument::Kind::kBool;
      argument.boolean = *flag;
    } else if (const auto* integer = std::get_if<std::int64_t>(&element.value)) {
      argument.kind = Argument::Kind::kInteger;
      argument.integer = *integer;
    } else if (const auto* large = std::get_if<std::uint64_t>(&element.value)) {
      argument.kind = Argument::Kind::kUnsigned;
      argument.unsigned_integer = *large;
    } else if (const double* number = std::get_if<double>(&element.value)) {
      argument.kind = Argument::Kind::kFloat;
      argument.number = *number;
    } else if (const std::string* text = std::get_if<std::string>(&element.value)) {
      argument.kind = Argument::Kind::kString;
      argument.text = *text;
    } else {
      return Fail(position, "a value that cannot be rebuilt");
    }
    return argument;
  }

  const TensorContext& context_;
  std::vector<TensorSpec>& tensors_;
};

// Class indices may not be negative: random labels start at 0 (accuracy_checker.md 7.1).
void LiftLabels(CallArguments& call) {
  if (call.positional.size() < 2 || call.positional[1].kind != Argument::Kind::kTensor) return;
  TensorSpec& labels = call.tensors[call.positional[1].tensor];
  if (labels.loaded != nullptr) return;
  RandomRange& range = labels.range;
  if (range.low <= 0) range.low = 0;
  if (range.integer_low <= 0) range.integer_low = 0;
  if (range.high < range.low) range.high = range.low;
  if (range.integer_high < range.integer_low) range.integer_high = range.integer_low;
}

}  // namespace

Result<CallArguments> PlanArguments(const Record& forward, const TensorContext& context) {
  const Element* positional = forward.Section("input_args");
  const Element* keywords = forward.Section("input_kwargs");
  if (positional == nullptr && keywords == nullptr) {
    return Error{ErrorCode::kInput, "the record holds no inputs; dump with a data_mode that keeps them"};
  }
  CallArguments call;
  ArgumentPlanner planner(context, call.tensors);
  if (positional != nullptr && positional->list() != nullptr) {
    const ElementList& list = *positional->list();
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto argument = planner.Plan(list[i], "input." + std::to_string(i));
      if (!argument.ok()) return argument.error();
      call.positional.push_back(std::move(argument.value()));
    }
  } else if (positional != nullptr && !positional->is_null()) {
    return Error{ErrorCode::kInput, "\"input_args\" is not a list"};
  }
  if (keywords != nullptr && keywords->object() != nullptr) {
    for (const Member& member : *keywords->object()) {
      auto argument = planner.Plan(member.value, "kwargs." + member.key);
      if (!argument.ok()) return argument.error();
      call.keywords.push_back({member.key, std::move(argument.value())});
    }
  } else if (keywords != nullptr && !keywords->is_null()) {
    return Error{ErrorCode::kInput, "\"input_kwargs\" is not an object"};
  }
  if (context.api == "cross_entropy") LiftLabels(call);
  ApplyIndexRules(context.api, forward, call);
  return call;
}

Result<TensorSpec> PlanGradient(const Record& backward, const TensorContext& context) {
  const Element* input = backward.Section("input");
  const Element* first =
      input != nullptr && input->list() != nullptr && !input->list()->empty() ? &input->list()->front() : nullptr;
  while (first != nullptr && first->list() != nullptr)
    first = first->list()->empty() ? nullptr : &first->list()->front();
  const TensorElement* tensor = first == nullptr ? nullptr : first->tensor();
  if (tensor == nullptr) return Error{ErrorCode::kInput, "the backward record holds no gradient of the first output"};
  return PlanTensor(*tensor, "backward.input.0", context);
}

}  // namespace msprobe
