#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace msprobe {

/// One value of a recorded call, ready to be made into an object of the framework. Tensors stand as an index into
/// Case::tensors, so that each side of the check puts in its own copies.
struct Argument {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kUnsigned,  ///< beyond the range of kInteger
    kFloat,
    kString,
    kTensor,
    kList,
    kTuple,
    kDict,   ///< `keys` and `items` in order
    kSlice,  ///< three items: start, stop, step
    kEllipsis,
    kComplex,       ///< items: real and imaginary part, kFloat
    kSize,          ///< torch.Size of the integer items
    kDType,         ///< `text` is the short name: "float16"
    kDevice,        ///< the device of the side that runs
    kMemoryFormat,  ///< `text`: "channels_last"
  };
  Kind kind = Kind::kNone;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;
  double number = 0;
  std::string text;
  std::string bench_text;  ///< of a dtype: what the bench gets instead, raised; empty: the same
  std::size_t tensor = 0;
  std::vector<Argument> items;
  std::vector<std::string> keys;
};

struct KeywordArgument {
  std::string name;
  Argument value;
};

}  // namespace msprobe
