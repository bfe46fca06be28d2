#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"

namespace msprobe {

/// A tensor in host memory that the caller keeps alive.
struct HostTensor {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< empty: contiguous

  TensorView view() const { return {data, dtype, shape, strides}; }
};

/// What a call returned, or part of it.
struct OutputValue {
  enum class Kind : std::uint8_t {
    kNone,
    kTensor,
    kBool,
    kInteger,
    kFloat,
    kString,
    kSequence,  ///< list, tuple, named tuple
    kMapping,   ///< `keys` as text
    kOther,     ///< an object that has no rule; `text` names its type
  };
  Kind kind = Kind::kNone;
  HostTensor tensor;
  bool boolean = false;
  double number = 0;
  std::string text;  ///< integer as decimal digits, string, or type name
  std::vector<OutputValue> items;
  std::vector<std::string> keys;
};

/// Name of the type of a builtin as Python prints it: "<class 'int'>". Empty for others.
const char* BuiltinTypeText(OutputValue::Kind kind);

}  // namespace msprobe
