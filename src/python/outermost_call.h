#pragma once

namespace msprobe {

/// Only the outermost call of an API is recorded: while one runs on this thread, calls inside it are its own business.
/// torch's mode sees to that for most functions; those of torch.distributed reach the tool on another way.
class OutermostCall {
 public:
  OutermostCall() { ++depth_; }
  ~OutermostCall() { --depth_; }
  OutermostCall(const OutermostCall&) = delete;
  OutermostCall& operator=(const OutermostCall&) = delete;

  static bool IsRunning() { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace msprobe
