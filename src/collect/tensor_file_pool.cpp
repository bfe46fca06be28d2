#include "collect/tensor_file_pool.h"

#include <utility>

#include "numerics/checksum.h"
#include "record/tensor_file.h"

namespace msprobe {
namespace {

/// Small files are bound by the disk: records behind thousands of them would be lost to a kill.
constexpr std::size_t kMostInFlight = 1024;

}  // namespace

TensorFilePool::TensorFilePool(Framework framework, bool synchronous, std::size_t byte_budget)
    : framework_(framework), synchronous_(synchronous), budget_(byte_budget) {}

TensorFilePool::~TensorFilePool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void TensorFilePool::Write(const std::string& path, const TensorView& view) {
  const Status written = framework_ == Framework::kPyTorch ? WritePtFile(path, view, Crc32) : WriteNpyFile(path, view);
  if (!written.ok()) {
    const std::lock_guard lock(mutex_);
    healthy_ = false;
    failures_.push_back(
        {path, written.error().message, static_cast<std::uint64_t>(ElementCount(view)) * ItemSize(view.dtype)});
  }
}

void TensorFilePool::Save(std::string path, const TensorView& view) {
  const std::size_t bytes = static_cast<std::size_t>(ElementCount(view)) * ItemSize(view.dtype);
  if (synchronous_ || bytes > budget_) {
    Write(path, view);
    return;
  }
  Enqueue({0, std::move(path), CopyTensor(view)});
}

void TensorFilePool::Save(std::string path, TensorCopy tensor) {
  if (synchronous_ || tensor.bytes.size() > budget_) {
    Write(path, tensor.view());
    return;
  }
  Enqueue({0, std::move(path), std::move(tensor)});
}

void TensorFilePool::Enqueue(Job job) {
  std::unique_lock lock(mutex_);
  if (threads_.empty()) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  done_.wait(lock, [&] {
    return bytes_in_flight_ == 0 ||
           (bytes_in_flight_ + job.tensor.bytes.size() <= budget_ && in_flight_.size() < kMostInFlight);
  });
  bytes_in_flight_ += job.tensor.bytes.size();
  job.number = accepted_++;
  in_flight_.insert(in_flight_.end(), job.number);
  queue_.push_back(std::move(job));
  work_.notify_one();
}

void TensorFilePool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    const Job job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Write(job.path, job.tensor.view());
    lock.lock();
    bytes_in_flight_ -= job.tensor.bytes.size();
    in_flight_.erase(job.number);
    done_.notify_all();
  }
}

std::vector<TensorFilePool::Failure> TensorFilePool::WaitAll() {
  std::unique_lock lock(mutex_);
  const std::uint64_t end = accepted_;
  done_.wait(lock, [&] { return in_flight_.empty() || *in_flight_.begin() >= end; });
  return std::exchange(failures_, {});
}

bool TensorFilePool::healthy() const {
  const std::lock_guard lock(mutex_);
  return healthy_;
}

}  // namespace msprobe
