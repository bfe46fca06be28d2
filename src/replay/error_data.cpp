#include "replay/error_data.h"

#include "base/files.h"
#include "numerics/checksum.h"
#include "record/tensor_file.h"

namespace msprobe {
namespace {

const char* PartText(ErrorDataPart part) {
  switch (part) {
    case ErrorDataPart::kForwardInput:
      return ".forward.input.";
    case ErrorDataPart::kForwardBench:
      return ".forward.output.bench.";
    case ErrorDataPart::kForwardDevice:
      return ".forward.output.device.";
    case ErrorDataPart::kBackwardInput:
      return ".backward.input.";
    case ErrorDataPart::kBackwardBench:
      return ".backward.output.bench.";
    case ErrorDataPart::kBackwardDevice:
      return ".backward.output.device.";
  }
  return ".";
}

Status SaveLeaves(const std::string& directory, const std::string& prefix, const OutputValue& value,
                  std::size_t& index) {
  if (value.kind == OutputValue::Kind::kSequence || value.kind == OutputValue::Kind::kMapping) {
    for (const OutputValue& item : value.items) {
      Status status = SaveLeaves(directory, prefix, item, index);
      if (!status.ok()) return status;
    }
    return {};
  }
  const std::string name = prefix + std::to_string(index++) + ".pt";
  if (value.kind != OutputValue::Kind::kTensor) return {};
  auto path = ResolveInside(directory, name);
  if (!path.ok()) return path.error();
  return WritePtFile(path.value(), value.tensor.view(), &Crc32);
}

}  // namespace

Status SaveErrorData(const std::string& directory, std::string_view call_name, ErrorDataPart part,
                     const OutputValue& value, std::size_t& index) {
  Status made = CreateDirectories(directory);
  if (!made.ok()) return made;
  return SaveLeaves(directory, std::string(call_name) + PartText(part), value, index);
}

}  // namespace msprobe
