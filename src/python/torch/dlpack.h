#pragma once

#include <cstdint>

namespace msprobe::dlpack {

// The part of the DLPack 1.x C ABI that reads a tensor's memory without a Python call per attribute
// (https://dmlc.github.io/dlpack/latest/c_api.html): layouts only, no code.

inline constexpr std::int32_t kDeviceCpu = 1;

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4M3Fn = 10,
  kFloat8E4M3Fnuz = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2Fnuz = 13,
  kFloat8E8M0Fnu = 14,
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* managed_tensor_allocator;
  void* managed_tensor_from_object;
  void* managed_tensor_to_object;
  /// Borrowed view of a tensor; -1 with a Python exception set when the tensor has no such memory.
  int (*tensor_from_object)(void* object, Tensor* out);
  void* current_work_stream;
};

}  // namespace msprobe::dlpack
