#pragma once

// To be included before any Highway header. Scalable vectors cannot be members of arrays, which our kernels use to keep
// a fixed number of accumulators whatever the vector width; 64-bit Arm therefore runs NEON.
#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
