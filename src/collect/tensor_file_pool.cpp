#include "collect/tensor_file_pool.h"

#include <cstring>
#include <utility>

#include "numerics/checksum.h"
#include "record/tensor_file.h"

namespace msprobe {
namespace {

/// Elements from the lowest to the highest address that a view touches, and how many lie before its first element.
struct StorageRange {
  std::int64_t before = 0;
  std::int64_t count = 0;
};

StorageRange RangeOf(const TensorView& view) {
  StorageRange range;
  std::int64_t after = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) {
      return {};
    }
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? range.before : after) += reach < 0 ? -reach : reach;
  }
  range.count = range.before + after + 1;
  return range;
}

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

TensorFilePool::Job TensorFilePool::Copy(std::string path, const TensorView& view) {
  Job job;
  job.path = std::move(path);
  job.dtype = view.dtype;
  job.shape.assign(view.shape.begin(), view.shape.end());
  const std::size_t item = ItemSize(view.dtype);
  const std::int64_t count = ElementCount(view);
  if (!view.strides.empty() && !IsContiguous(view)) {
    const StorageRange range = RangeOf(view);
    if (range.count > 0 && range.count <= count) {  // transposed or expanded: the storage as it is, with its strides
      job.strides.assign(view.strides.begin(), view.strides.end());
      job.bytes.resize(static_cast<std::size_t>(range.count) * item);
      job.data_offset = static_cast<std::size_t>(range.before) * item;
      std::memcpy(job.bytes.data(), static_cast<const std::byte*>(view.data) - job.data_offset, job.bytes.size());
      return job;
    }
  }
  job.bytes.resize(static_cast<std::size_t>(count) * item);
  CopyContiguous(view, job.bytes.data());
  return job;
}

void TensorFilePool::Write(const std::string& path, const TensorView& view) {
  const Status written = framework_ == Framework::kPyTorch ? WritePtFile(path, view, Crc32) : WriteNpyFile(path, view);
  if (!written.ok()) {
    const std::lock_guard lock(mutex_);
    healthy_ = false;
    failures_.push_back({path, written.error().message});
  }
}

void TensorFilePool::Save(std::string path, const TensorView& view) {
  const std::size_t bytes = static_cast<std::size_t>(ElementCount(view)) * ItemSize(view.dtype);
  if (synchronous_ || bytes > budget_) {
    Write(path, view);
    return;
  }
  Job job = Copy(std::move(path), view);
  std::unique_lock lock(mutex_);
  if (threads_.empty()) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  done_.wait(lock, [&] { return bytes_in_flight_ + job.bytes.size() <= budget_ || bytes_in_flight_ == 0; });
  bytes_in_flight_ += job.bytes.size();
  ++jobs_in_flight_;
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
    Write(job.path, TensorView{job.bytes.data() + job.data_offset, job.dtype, job.shape, job.strides});
    lock.lock();
    bytes_in_flight_ -= job.bytes.size();
    --jobs_in_flight_;
    done_.notify_all();
  }
}

std::vector<TensorFilePool::Failure> TensorFilePool::WaitAll() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return jobs_in_flight_ == 0; });
  return std::exchange(failures_, {});
}

bool TensorFilePool::healthy() const {
  const std::lock_guard lock(mutex_);
  return healthy_;
}

}  // namespace msprobe
