// Independent items of work, spread over threads.
#pragma once

#include <cstdint>
#include <functional>

namespace octavo::sim {

/// The threads that `asked` means: itself, or one a core for 0.
int resolve_threads(int asked);

/// Calls body(item) once for each item of [0, count), on `threads` threads, and `meanwhile` on the
/// caller's; returns when all is done. With one thread everything happens on the caller's,
/// `meanwhile` last. Which thread does an item must not matter to its result. When calls throw, all
/// others are still made; what `meanwhile` threw is raised, or else the exception of the first
/// item.
void run_parallel(int threads,
                  std::int64_t count,
                  const std::function<void(std::int64_t)>& body,
                  const std::function<void()>& meanwhile = {});

}  // namespace octavo::sim
