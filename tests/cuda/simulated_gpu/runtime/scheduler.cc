#include "tests/cuda/simulated_gpu/runtime/scheduler.h"

#include <algorithm>
#include <utility>

namespace octavo::simulated_gpu {
namespace {

bool is_done(const WorkRef& work) {
  return work == nullptr || work->is_done;
}

bool is_ready(const Work& work) {
  return std::ranges::all_of(work.after, is_done);
}

}  // namespace

std::shared_ptr<Queue> Scheduler::make_queue() {
  forget_queues();
  return queues_.emplace_back(std::make_shared<Queue>());
}

WorkRef Scheduler::add(Queue& queue, std::function<void()> act, std::vector<WorkRef> after) {
  std::erase_if(after, is_done);
  const auto work = std::make_shared<Work>(Work{std::move(act), std::move(after), &queue});
  queue.waiting.push_back(work);
  if (time_ == WorkTime::Eager) {
    finish(work);
  }
  return work;
}

WorkRef Scheduler::last(const Queue& queue) {
  return queue.waiting.empty() ? nullptr : queue.waiting.back();
}

void Scheduler::finish(const WorkRef& work) {
  if (time_ != WorkTime::Random) {
    finish_needed(work);
    return;
  }
  while (!is_done(work)) {
    run_any();
  }
}

void Scheduler::run_some() {
  if (time_ == WorkTime::Random) {
    constexpr std::uint32_t kMost = 4;
    for (std::uint32_t left = random_.below(2) * random_.below(kMost); left > 0; --left) {
      run_any();
    }
  }
}

void Scheduler::run_first(Queue& queue) {
  const WorkRef work = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  work->act();
  // A chain of all that ever was is not kept.
  work->act = nullptr;
  work->after.clear();
  work->is_done = true;
  work->turn = ++turns_;
}

void Scheduler::run_any() {
  std::vector<Queue*> ready;
  for (const auto& queue : queues_) {
    if (!queue->waiting.empty() && is_ready(*queue->waiting.front())) {
      ready.push_back(queue.get());
    }
  }
  if (!ready.empty()) {
    run_first(*ready[random_.below(static_cast<std::uint32_t>(ready.size()))]);
  }
}

void Scheduler::finish_needed(const WorkRef& work) {
  while (!is_done(work)) {
    Queue& queue = *work->queue;
    const std::vector<WorkRef> after = queue.waiting.front()->after;
    for (const WorkRef& earlier : after) {
      finish_needed(earlier);
    }
    run_first(queue);
  }
}

void Scheduler::forget_queues() {
  std::erase_if(queues_, [](const std::shared_ptr<Queue>& queue) {
    return queue.use_count() == 1 && queue->waiting.empty();
  });
}

}  // namespace octavo::simulated_gpu
