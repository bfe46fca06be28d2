#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collect/tensor_copy.h"
#include "config/dump_settings.h"
#include "tensor/tensor_view.h"

namespace msprobe {

/// Writes tensor files in the background. Memory is bounded: a tensor waits for room in the byte budget (and behind at
/// most 1024 files), one that is larger than the budget is written at once (decisions 16). Each file gets its name only
/// when it is complete.
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
  /// The same for a copy that was made before.
  void Save(std::string path, TensorCopy tensor);

  struct Failure {
    std::string path;
    std::string message;
    std::uint64_t bytes;  ///< of the tensor
  };
  /// Waits until every file accepted so far is in place; returns the files that could not be written since the last
  /// call.
  std::vector<Failure> WaitAll();

  /// False after a failure: a full disk fails once, not for every tensor.
  bool healthy() const;

 private:
  struct Job {
    std::uint64_t number;
    std::string path;
    TensorCopy tensor;
  };
  void Enqueue(Job job);
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
  std::uint64_t accepted_ = 0;
  std::set<std::uint64_t> in_flight_;  ///< numbers of jobs that are not done
  bool stopping_ = false;
  bool healthy_ = true;
  std::vector<Failure> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace msprobe
