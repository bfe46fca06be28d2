#pragma once

// The formatting library as header-only code: nothing to link or bundle (spec decisions 45). Include this, not
// <fmt/...>.
#ifndef FMT_HEADER_ONLY
#define FMT_HEADER_ONLY
#endif
#include <fmt/format.h>
