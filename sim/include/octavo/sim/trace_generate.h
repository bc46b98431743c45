// Synthetic workloads, each a TraceReader: to be replayed as they are, or written to a file.
//
// A workload is a function of its options alone. Only integer arithmetic and the generator of rng.h
// decide anything, so the same options give the same requests, bit for bit, on every machine, with
// every compiler and in every build type. Changing a generator changes its workloads: the files in
// traces/ are then made anew.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>

#include "octavo/sim/trace.h"
#include "octavo/sim/trace_sessions.h"

namespace octavo::sim {

enum class WorkloadKind {
  Chat,         ///< Conversations behind a few shared system prompts; histories grow turn by turn.
  Agent,        ///< Agent loops with tool calls and sub-agents behind long shared preambles.
  Adversarial,  ///< Patterns chosen to hurt LRU and prefix trees.

  // Built from WorkloadOptions::sessions; they differ in its defaults only.
  Synthetic,  ///< One prompt of a fixed length a session, nothing shared.
  Sessions,   ///< Multi-turn chat with think time behind shared system prompts.
  Tools,      ///< Agent loops: many turns, each a tool call and its result.
  Media,      ///< Prompts with images that occur again and again.
  Mix,        ///< The three above, each session one of them.
};

/// "chat", "agent", "adversarial", "synthetic", "sessions", "tools", "media", "mix".
std::string_view to_string(WorkloadKind kind) noexcept;

/// The inverse of `to_string`. Raises InvalidArgument for another name.
WorkloadKind parse_workload_kind(std::string_view name);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::Chat;
  std::uint64_t seed = 1;
  std::int64_t requests = 1000;

  /// Prompt tokens an id; 0 is the kind's own: 64 for chat, 512 for agent, 16 for the others.
  std::int64_t block_size = 0;

  /// Adversarial only: the pool, in blocks, that the cyclic scans are just too large for.
  std::int64_t pool_blocks = 256;

  /// Synthetic, sessions, tools, media and mix only; `session_defaults` has the values of a kind.
  SessionOptions sessions{};
};

/// What the sessions of a kind are unless somebody says otherwise. `kind` is Synthetic, Sessions,
/// Tools, Media or Mix.
SessionOptions session_defaults(WorkloadKind kind);

/// The block size that `options` come to.
std::int64_t workload_block_size(const WorkloadOptions& options) noexcept;

/// The workload as a reader, which makes its requests one by one. Arrivals never go back.
///
/// Raises InvalidArgument for fewer than 1 or more than 10^9 requests, a block size outside
/// [0, 65536], a pool outside [8, 65536] blocks, a session option outside its range. Its `next`
/// raises ResourceExhausted when arrival times outgrow 2^62 ns.
std::unique_ptr<TraceReader> make_workload(const WorkloadOptions& options);

/// Writes the workload as an Octavo trace. Raises what `make_workload` raises; the caller checks
/// the state of the stream.
void write_workload(const WorkloadOptions& options, std::ostream& out);

}  // namespace octavo::sim
