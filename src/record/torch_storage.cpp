#include "record/torch_storage.h"

#include <array>

namespace msprobe {
namespace {

struct StorageClass {
  std::string_view name;
  DType dtype;
};

constexpr std::array<StorageClass, 12> kStorageClasses = {{
    {"BoolStorage", DType::kBool},
    {"ByteStorage", DType::kUint8},
    {"CharStorage", DType::kInt8},
    {"ShortStorage", DType::kInt16},
    {"IntStorage", DType::kInt32},
    {"LongStorage", DType::kInt64},
    {"HalfStorage", DType::kFloat16},
    {"BFloat16Storage", DType::kBFloat16},
    {"FloatStorage", DType::kFloat32},
    {"DoubleStorage", DType::kFloat64},
    {"ComplexFloatStorage", DType::kComplex64},
    {"ComplexDoubleStorage", DType::kComplex128},
}};

}  // namespace

std::string_view StorageClassName(DType dtype) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.dtype == dtype) return known.name;
  }
  return {};
}

std::optional<DType> StorageClassDType(std::string_view name) {
  for (const StorageClass& known : kStorageClasses) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

}  // namespace msprobe
