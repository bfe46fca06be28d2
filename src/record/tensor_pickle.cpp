#include "record/tensor_pickle.h"

#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "record/pickle_machine.h"
#include "record/torch_storage.h"

namespace msprobe {
namespace {

constexpr std::size_t kMaxRank = 64;

constexpr std::string_view kUntypedStorage = "UntypedStorage";

class TensorPickle final : public PickleMachine {
 public:
  explicit TensorPickle(std::string_view pickle) : PickleMachine(pickle) {}

  PickledTensor TakeTensor() { return std::move(tensors_[result_]); }

 private:
  /// What `Value::text` of an object of ours says; a storage has its key there, behind the first byte.
  static constexpr char kTensor = 't';
  static constexpr char kStorage = 's';

  static bool IsObject(const Value& value, char type) {
    return value.kind == Kind::kCustom && value.text.starts_with(type);
  }

  static std::string FullName(const Value& global) { return Excerpt(global.module + "." + global.text); }

  static bool IsStorageClass(const Value& global) {
    const bool of_torch = global.module == "torch" || global.module.starts_with("torch.");
    return global.kind == Kind::kGlobal && of_torch &&
           (global.text == kUntypedStorage || StorageClassDType(global.text).has_value());
  }

  static std::optional<DType> DTypeOf(const Value& global) {
    return global.kind == Kind::kGlobal && global.module == "torch" ? ParseDType(global.text) : std::nullopt;
  }

  /// Only names that tensors need may occur. Rebuild functions of plug-ins are called like torch's.
  bool AllowGlobal(const Value& global) override {
    const bool is_ordered_dict = global.module == "collections" && global.text == "OrderedDict";
    return is_ordered_dict || global.text.starts_with("_rebuild_") || IsStorageClass(global) ||
           DTypeOf(global).has_value() ||
           Fail("its pickle refers to " + FullName(global) + ", which no plain tensor needs; nothing was executed");
  }

  /// ("storage", class, key, location, elements)
  bool MakePersistent(const Value& id, Value& out) override {
    const auto is = [&](std::size_t i, Kind kind) { return Item(id, i).kind == kind; };
    if (id.kind != Kind::kTuple || id.count != 5 || !is(0, Kind::kText) || Item(id, 0).text != "storage" ||
        !IsStorageClass(Item(id, 1)) || !is(2, Kind::kText) || !is(4, Kind::kInteger)) {
      return Fail("its pickle names a storage in an unknown way");
    }
    Storage storage;
    storage.dtype = StorageClassDType(Item(id, 1).text);
    const std::int64_t elements = Item(id, 4).integer;
    const auto item = static_cast<std::int64_t>(storage.dtype.has_value() ? ItemSize(*storage.dtype) : 1);
    if (elements < 0 || elements > std::numeric_limits<std::int64_t>::max() / item) {
      return Fail("its pickle names a storage of impossible size");
    }
    storage.bytes = static_cast<std::uint64_t>(elements * item);
    out.kind = Kind::kCustom;
    out.text = kStorage + Item(id, 2).text;
    out.integer = static_cast<std::int64_t>(storages_.size());
    storages_.push_back(storage);
    return true;
  }

  bool Call(const Value& function, const Value& arguments, Value& out) override {
    if (function.text == "OrderedDict" && arguments.count == 0) {
      out.kind = Kind::kDict;
      return true;
    }
    if (function.text.starts_with("_rebuild_parameter") && arguments.count > 0 &&
        IsObject(Item(arguments, 0), kTensor)) {
      out = Item(arguments, 0);
      return true;
    }
    return RebuildTensor(function, arguments, out);
  }

  /// (storage, offset, sizes, strides, requires_grad, hooks, [v3: dtype,] [metadata]); a plug-in's function may have
  /// more.
  bool RebuildTensor(const Value& function, const Value& arguments, Value& out) {
    if (!function.text.starts_with("_rebuild_") || arguments.count < 4 || !IsObject(Item(arguments, 0), kStorage) ||
        Item(arguments, 1).kind != Kind::kInteger) {
      return Fail("its pickle calls " + FullName(function) + ", which does not make a plain strided tensor");
    }
    const Value& storage_value = Item(arguments, 0);
    const Storage& storage = storages_[static_cast<std::size_t>(storage_value.integer)];
    PickledTensor tensor;
    tensor.storage_key = storage_value.text.substr(1);
    tensor.storage_bytes = storage.bytes;
    tensor.storage_offset = Item(arguments, 1).integer;
    if (!TakeIntegers(Item(arguments, 2), tensor.shape) || !TakeIntegers(Item(arguments, 3), tensor.strides)) {
      return Fail("its pickle calls " + FullName(function) + " with sizes or strides that are not integers");
    }
    const bool names_dtype = function.text == "_rebuild_tensor_v3";
    const auto dtype = !names_dtype ? storage.dtype : arguments.count > 6 ? DTypeOf(Item(arguments, 6)) : std::nullopt;
    if (!dtype.has_value()) return Fail("its pickle calls " + FullName(function) + " without a known dtype");
    tensor.dtype = dtype.value();
    const std::size_t metadata = names_dtype ? 7 : 6;
    if (arguments.count > metadata && Item(arguments, metadata).kind == Kind::kDict &&
        Item(arguments, metadata).integer != 0) {
      return Fail("the tensor is lazily conjugated or negated; save the result of resolve_conj() and resolve_neg()");
    }
    out.kind = Kind::kCustom;
    out.text = kTensor;
    out.integer = static_cast<std::int64_t>(tensors_.size());
    tensors_.push_back(std::move(tensor));
    return true;
  }

  bool TakeIntegers(const Value& tuple, std::vector<std::int64_t>& out) const {
    if (tuple.kind != Kind::kTuple || tuple.count > kMaxRank) return false;
    for (std::size_t i = 0; i < tuple.count; ++i) {
      if (Item(tuple, i).kind != Kind::kInteger) return false;
      out.push_back(Item(tuple, i).integer);
    }
    return true;
  }

  bool Finish(const Value& value) override {
    if (!IsObject(value, kTensor)) return Fail("it holds a container or another value, not one tensor");
    result_ = static_cast<std::size_t>(value.integer);
    return true;
  }

  struct Storage {
    std::optional<DType> dtype;  // absent: untyped bytes
    std::uint64_t bytes = 0;
  };

  std::vector<Storage> storages_;
  std::vector<PickledTensor> tensors_;
  std::size_t result_ = 0;
};

}  // namespace

Result<PickledTensor> ParseTensorPickle(std::string_view pickle) {
  TensorPickle machine(pickle);
  if (!machine.Run()) return Error{ErrorCode::kInput, machine.problem()};
  return machine.TakeTensor();
}

}  // namespace msprobe
