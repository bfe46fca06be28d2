#include <vector>

#include "base/file_handle.h"
#include "check/fingerprint.h"
#include "check/plan.h"

namespace msprobe {

Result<std::string> PlanFingerprint(const CheckPlan& plan, const std::string& dump_path) {
  Fingerprint fingerprint;
  for (const CheckCase& item : plan.cases) {
    fingerprint.Add(item.full_name);
    fingerprint.Add(item.skip_reason);
  }
  auto file = OpenInputFile(dump_path);
  if (!file) return file.error();
  // Always whole chunks but for the last one, so that the result does not depend on how the system splits reads.
  std::vector<char> chunk(1U << 18U);
  std::size_t filled = 0;
  while (true) {
    auto count = ReadSome(*file, chunk.data() + filled, chunk.size() - filled, dump_path);
    if (!count) return count.error();
    filled += *count;
    if (*count > 0 && filled < chunk.size()) continue;
    fingerprint.Add(std::string_view(chunk.data(), filled));
    if (*count == 0) return fingerprint.Hex();
    filled = 0;
  }
}

}  // namespace msprobe
