#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/dump_settings.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// Writes tensor files in the background. Memory is bounded: a tensor waits for room in the byte budget, one that is
/// larger than the budget is written at once (decisions 16). Each file gets its name only when it is complete.
class TensorFilePool {
 public:
  static constexpr std::size_t kDefaultBudget = std::size_t{256} << 20U;

  /// `synchronous`: each file is complete when Save returns (MSPROBE_SYNC_SAVE=1).
  TensorFilePool(Framework framework, bool synchronous, std::size_t byte_budget = kDefaultBudget);
  ~TensorFilePool();  ///< waits for what was accepted
  TensorFilePool(const TensorFilePool&) = delete;
  TensorFilePool& operator=(const TensorFilePool&) = delete;

  /// Takes a copy of the view's memory and returns; the view may change afterwards.
  void Save(std::string path, const TensorView& view);

  struct Failure {
    std::string path;
    std::string message;
  };
  /// Waits until every accepted file is in place; returns the files that could not be written since the last call.
  std::vector<Failure> WaitAll();

  /// False after a failure: a full disk fails once, not for every tensor.
  bool healthy() const;

 private:
  struct Job {
    std::string path;
    DType dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::vector<std::byte> bytes;
    std::size_t data_offset = 0;
  };
  static Job Copy(std::string path, const TensorView& view);
  void Write(const std::string& path, const TensorView& view);
  void Run();

  Framework framework_;
  bool synchronous_;
  std::size_t budget_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<Job> queue_;
  std::size_t bytes_in_flight_ = 0;
  std::size_t jobs_in_flight_ = 0;
  bool stopping_ = false;
  bool healthy_ = true;
  std::vector<Failure> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace msprobe
