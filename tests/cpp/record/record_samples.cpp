#include "record/record_samples.h"

#include <bit>
#include <limits>
#include <utility>

namespace msprobe {

double RandomElements::Double() {
  switch (Below(6)) {
    case 0:
      return std::bit_cast<double>(random_());
    case 1:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random_())));
    case 2:
      return static_cast<double>(Integer());
    case 3:
      return std::numeric_limits<double>::quiet_NaN();
    case 4:
      return Below(2) == 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    default:
      return static_cast<double>(Integer()) / 1024;
  }
}

std::string RandomElements::Text() {
  std::string text;
  for (std::uint64_t i = Below(20); i > 0; --i) {
    switch (Below(8)) {
      case 0:
        text += static_cast<char>(Below(0x20));
        break;
      case 1:
        text += "\xC3\xA9";
        break;
      case 2:
        text += "\xF0\x9F\x98\x80";
        break;
      case 3:
        text += Below(2) == 0 ? '"' : '\\';
        break;
      default:
        text += static_cast<char>(0x20 + Below(0x60));
        break;
    }
  }
  return text;
}

StatisticValue RandomElements::Statistic() {
  switch (Below(5)) {
    case 0:
      return std::monostate();
    case 1:
      return Below(2) == 0;
    case 2:
      return Integer();
    case 3:
      return ~std::uint64_t{0} - Below(1000);  // what fits int64 is read as int64
    default:
      return Double();
  }
}

TensorElement RandomElements::Tensor(int depth) {
  TensorElement tensor;
  if (Below(3) == 0) tensor.type = "mindspore.Tensor";
  tensor.dtype = Below(2) == 0 ? "torch.float32" : Text();
  for (std::uint64_t i = Below(5); i > 0; --i) tensor.shape.push_back(static_cast<std::int64_t>(Below(10000)));
  for (auto* field : {&tensor.max, &tensor.min, &tensor.mean, &tensor.norm, &tensor.finite_max, &tensor.finite_min,
                      &tensor.origin_max, &tensor.origin_min}) {
    if (Below(2) == 0) *field = Statistic();
  }
  if (Below(2) == 0) tensor.requires_grad = Below(2) == 0;
  if (Below(4) == 0) tensor.stride = tensor.shape;
  if (Below(4) == 0) tensor.storage_offset = Integer();
  if (Below(2) == 0) tensor.md5 = "8ba71454";
  if (Below(2) == 0) tensor.data_name = Text();
  if (Below(8) == 0) tensor.datapath = Text();
  if (Below(8) == 0) tensor.extra.push_back({"x" + Text(), Any(depth - 1)});
  return tensor;
}

Element RandomElements::Plain(int depth) {
  switch (Below(depth > 0 ? 7 : 6)) {
    case 0:
      return Element();
    case 1:
      return Element(Below(2) == 0);
    case 2:
      return Element(Integer());
    case 3:
      return Element(~std::uint64_t{0} - Below(1000));
    case 4:
      return Element(Double());
    case 5:
      return Element(Text());
    default: {
      ElementList list;
      for (std::uint64_t i = Below(4); i > 0; --i) list.push_back(Plain(depth - 1));
      return Element(std::move(list));
    }
  }
}

Element RandomElements::Any(int depth) {
  switch (Below(depth > 0 ? 6 : 3)) {
    case 0:
      return Element();
    case 1:
      return Typed(Text(), Plain(depth));
    case 3: {
      ElementList list;
      for (std::uint64_t i = Below(5); i > 0; --i) list.push_back(Any(depth - 1));
      return Element(std::move(list));
    }
    case 4: {
      ElementObject object;
      for (std::uint64_t i = Below(5); i > 0; --i) object.push_back({Below(9) == 0 ? "type" : Text(), Any(depth - 1)});
      return Element(std::move(object));
    }
    default:
      return Element(std::make_unique<TensorElement>(Tensor(depth)));
  }
}

Record RandomElements::AnyRecord(std::string name) {
  Record record;
  record.name = std::move(name);
  for (const char* section : {"input_args", "input_kwargs", "output"}) {
    if (Below(8) != 0) record.sections.push_back({section, Any(4)});
  }
  return record;
}

}  // namespace msprobe
