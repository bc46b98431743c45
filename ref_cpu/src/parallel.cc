#include "parallel.h"

#include <algorithm>

#include <sched.h>

namespace octavo::ref_cpu {

ThreadPool::ThreadPool(int workers) {
  threads_.reserve(static_cast<std::size_t>(std::max(workers - 1, 0)));
  for (int worker = 1; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::run_items(std::int64_t count, Call call, const void* body) {
  if (threads_.empty() || count <= 1) {
    for (std::int64_t item = 0; item < count; ++item) {
      call(body, item, 0);
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    call_ = call;
    body_ = body;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(threads_.size());
    ++job_;
  }
  wake_.notify_all();
  take_items(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadPool::work(int worker) {
  std::int64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || job_ != seen; });
    if (stopping_) {
      return;
    }
    seen = job_;
    lock.unlock();
    take_items(worker);
    lock.lock();
    if (--busy_ == 0) {
      done_.notify_one();
    }
  }
}

void ThreadPool::take_items(int worker) {
  for (std::int64_t item = next_.fetch_add(1, std::memory_order_relaxed); item < count_;
       item = next_.fetch_add(1, std::memory_order_relaxed)) {
    call_(body_, item, worker);
  }
}

int available_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace octavo::ref_cpu
