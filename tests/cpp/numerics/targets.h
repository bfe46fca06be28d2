#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace msprobe {

/// Runs `body(name)` once for each instruction set that the kernels are compiled for and this machine has.
template <typename Body>
void ForEachTarget(Body&& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(std::string(hwy::TargetName(target)));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace msprobe
