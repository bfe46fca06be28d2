#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "python/object.h"
#include "python/recording.h"

namespace msprobe {

/// What a call answers: its result, or, of communication, also what arrives in its arguments, perhaps later.
enum class Answer : std::uint8_t { kResult, kCommunication };

/// Makes the call and records it as a call of `api`. `keywords` may be null. Returns a new reference or null with an
/// exception: that of the call, unchanged. A call of communication that hands out handles is recorded when all of them
/// have completed, with null outputs if nobody waits for them before the step ends.
PyObject* RecordedCall(const std::shared_ptr<Recording>& recording, std::size_t api, PyObject* function,
                       PyObject* arguments, PyObject* keywords, Answer answer = Answer::kResult);

}  // namespace msprobe
