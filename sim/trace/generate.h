// The generators behind make_workload. Each makes requests without end; the workload cuts them off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octavo/sim/trace_generate.h"

namespace octavo::sim {

inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000 * kMillisecond;

class Generator {
 public:
  Generator() = default;
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Fills in every field of `request`; arrivals never go back.
  virtual void next(TraceRequest& request) = 0;
};

std::unique_ptr<Generator> make_chat(std::uint64_t seed, std::int64_t block_size);
std::unique_ptr<Generator> make_agent(std::uint64_t seed, std::int64_t block_size);
std::unique_ptr<Generator> make_adversarial(std::uint64_t seed,
                                            std::int64_t block_size,
                                            std::int64_t pool_blocks);
std::unique_ptr<Generator> make_sessions(std::uint64_t seed,
                                         std::int64_t block_size,
                                         const SessionOptions& options);

/// Whether the kind is made of SessionOptions.
bool is_of_sessions(WorkloadKind kind) noexcept;

/// Raises InvalidArgument for an option outside its range.
void check(const SessionOptions& options);

/// The options as notes in the header of a trace.
std::vector<std::pair<std::string, std::string>> notes_of(const SessionOptions& options);

}  // namespace octavo::sim
