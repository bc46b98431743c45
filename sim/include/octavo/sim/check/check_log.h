// The operation log of `octavo check`: a cache's make-up and a list of operations on it, as data.
//
// A log is self-contained: it replays anywhere, without the trace or the seed that it came from,
// and gives the same verdict. Every operation makes sense in every state (what does not apply is
// skipped, counts are cut to what there is), so that a log from which lines were taken is a log
// again. The file format: sim/CHECK.md.
//
// Plain values; may be copied and read from any thread.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/kv_config.h"

namespace octavo::sim {

/// What one layer of the checked cache is.
enum class CheckRowKind {
  Paged,       ///< Attention over blocks.
  Window,      ///< The same, masked to a window.
  Release,     ///< The same, in a cache that gives back blocks behind the window.
  Continuous,  ///< Attention over a slot's own storage.
  Ring,        ///< The same with a window: positions wrap around.
  Cross,       ///< Cross-attention.
  State,       ///< Two convolution windows and a recurrent slab.
};

struct CheckRow {
  CheckRowKind kind = CheckRowKind::Paged;
  KVQuantSpec k_quant = {};
  KVQuantSpec v_quant = {};
  friend bool operator==(const CheckRow&, const CheckRow&) = default;
};

/// "paged", "window:int8", "ring:e4m3/int4", "state"; a codec of "static" is E4M3 with scales that
/// are given. A codec alone ("int8") means a paged row.
std::string to_string(const CheckRow& row);

/// The inverse. Raises InvalidArgument for another text, listing the words.
CheckRow parse_check_row(std::string_view text);

/// What the checked cache is made of, and the seed of its values.
struct CheckSetup {
  std::vector<CheckRow> rows;
  DType kv_dtype = DType::BF16;
  int kv_heads = 2;
  int head_dim = 64;
  int slots = 4;
  std::int64_t max_tokens = 160;  ///< Of a sequence.
  std::int64_t max_step = 16;     ///< Tokens of a sequence in one step.
  std::int64_t blocks = 64;
  int block_size = 8;
  int window = 12;  ///< Of the rows that have one.
  std::uint64_t seed = 1;

  bool has(CheckRowKind kind) const;
  bool has_blocks() const;  ///< Some row is paged.
  KVCacheConfig config(std::shared_ptr<Device> device) const;
  std::vector<KVLayerSpec> specs() const;
};

/// Tokens first, first + 1, ..., count of them.
struct TokenRun {
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const TokenRun&, const TokenRun&) = default;
};

enum class CheckVerb {
  Admit,       ///< prompt, addressable
  Step,        ///< batch: appended and attended over
  Prepare,     ///< batch: a step that is prepared and never computed
  Rewind,      ///< back
  Retire,      ///< back: how much of the history is not kept; boundaries
  Evict,       ///< slot
  Abandon,     ///< slot
  Reserve,     ///< count: a bare reservation
  Namespace,   ///< id
  Invalidate,  ///< id
  Fill,        ///< id: which encoder output
  Release,     ///< quarantined blocks return
  Reset,       ///< everything is dropped
  Wrong,       ///< id: a call that must raise
  Make,        ///< another cache, whose device refuses the allocation number `alloc_after`
  Verify,      ///< everything is read back
};
inline constexpr int kCheckVerbs = 16;

std::string_view to_string(CheckVerb verb) noexcept;

/// One sequence's part in a step: `back` tokens are taken back by past_len, then `count` follow:
/// those of the prompt that are left, then token, token + 1, ...
struct CheckStepEntry {
  int slot = 0;
  std::int32_t count = 1;
  std::int32_t token = 0;
  std::int32_t back = 0;
  friend bool operator==(const CheckStepEntry&, const CheckStepEntry&) = default;
};

struct CheckOp {
  CheckVerb verb = CheckVerb::Verify;
  int slot = 0;
  std::int64_t number = 0;  ///< The verb's back, count or id.
  std::vector<TokenRun> prompt = {};
  std::int64_t addressable = -1;
  std::vector<CheckStepEntry> batch = {};
  std::vector<std::int64_t> boundaries = {};
  /// >= 0: during the operation, the call of the device (an allocation on it, an allocation of the
  /// host's) that follows so many others fails.
  std::int64_t device_after = -1;
  std::int64_t alloc_after = -1;
  std::int64_t host_alloc_after = -1;
  friend bool operator==(const CheckOp&, const CheckOp&) = default;
};

struct CheckLog {
  CheckSetup setup;
  std::vector<CheckOp> ops;
};

/// One line a record, a header first.
void write_check_log(const CheckLog& log, std::ostream& out);

/// Raises InputError, naming file, line and field, for anything that `write_check_log` would not
/// write and for a cache that cannot be made.
CheckLog read_check_log(std::istream& in, const std::string& file);

}  // namespace octavo::sim
