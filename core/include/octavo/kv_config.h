// What a cache is made of: the configuration and one specification a row.
//
// Aggregates without behaviour, built with designated initialisers; they own what they hold and may
// be copied and read from any thread. Nothing is checked here: `footprint` and `KVCache::make` read
// them through one plan, which refuses what is illegal.
//
// Geometry is per rank: a model sharded over N devices passes each device's own share of the heads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "octavo/dtype.h"
#include "octavo/eviction.h"

namespace octavo {

class Device;
class KVEventSink;

/// Ids of slots, blocks and positions travel as Int32; these are the largest counts they can name.
inline constexpr std::int64_t kMaxSeqs = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxBlocks = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMaxTokensPerSeq = (std::int64_t{1} << 31) - 1;
inline constexpr int kMaxBlockSize = 65536;

/// The layout of the rows that leave theirs to Layout::Auto.
enum class KVCacheMode {
  Continuous,  ///< Every slot owns `capacity` positions of its own.
  Paged,       ///< Slots share a pool of blocks, found through a block table.
};

/// The layout of one row.
enum class Layout {
  Auto,        ///< By the cache's mode; cross-attention and state rows are Continuous.
  Continuous,  ///< [max_seqs, kv_heads, capacity, head_dim]
  Paged,       ///< [num_blocks, kv_heads, block_size, head_dim]
};

/// What a row stores.
enum class KVLayerKind {
  AttentionKV,       ///< Keys and values of the sequence's own tokens.
  CrossAttentionKV,  ///< Keys and values of an encoder's output, written once by `fill`.
  State,             ///< Convolution windows, a recurrent slab, or both; one of each a slot.
};

/// How keys or values are stored; `None` stores the cache's kv_dtype.
enum class KVCodec { None, Int8, Int4, E4M3, E5M2 };

/// Where a quantized row's scale comes from.
enum class KVScale {
  PerTokenHead,  ///< One F32 per token and head, computed at append and stored beside the row.
  Static,        ///< Given with the row, one for all heads or one a head; E4M3 and E5M2 only.
};

struct KVQuantSpec {
  KVCodec codec = KVCodec::None;
  KVScale scale = KVScale::PerTokenHead;
  friend bool operator==(const KVQuantSpec&, const KVQuantSpec&) = default;
};

/// The pool of blocks that all paged rows share.
struct PagedParams {
  std::int64_t num_blocks = 0;  ///< Blocks in the pool, [1, kMaxBlocks]. Too few: exhaustion.
  int block_size = 16;          ///< Tokens a block: a power of two in [1, kMaxBlockSize].
  /// Cells of a block table row. 0: ceil(max_tokens_per_seq / block_size), or num_blocks when
  /// max_tokens_per_seq sets no limit. Smaller than what a sequence needs: the row ends it earlier.
  int max_blocks_per_seq = 0;
  /// > 0: blocks wholly behind this many tokens are released, and no prefix is cached. Every paged
  /// row must then have a window, none larger than this one. 0: nothing is released.
  int window = 0;
  bool prefix_caching = true;                   ///< false: no prefix is ever kept or served.
  EvictionPolicy policy = EvictionPolicy::Lru;  ///< Who leaves a full pool.
  KVEventSink* events = nullptr;  ///< Hears of blocks kept and evicted. Must outlive the cache.
};

/// One causal convolution's window: the last `width` inputs of `dim` channels. A kernel of size k
/// keeps k - 1 of them.
struct KVConvSpec {
  int dim = 0;
  int width = 0;
  friend bool operator==(const KVConvSpec&, const KVConvSpec&) = default;
};

/// One recurrent slab, [heads, k_dim, v_dim]; all zero means that the row has none.
struct KVRecurrentSpec {
  int heads = 0;
  int k_dim = 0;
  int v_dim = 0;
  friend bool operator==(const KVRecurrentSpec&, const KVRecurrentSpec&) = default;
};

/// One row of the cache.
struct KVLayerSpec {
  KVLayerKind kind = KVLayerKind::AttentionKV;
  Layout layout = Layout::Auto;  ///< Paged is for AttentionKV rows only.
  int kv_heads = 0;              ///< 0: the config's. Unused by State rows.
  int head_dim = 0;              ///< 0: the config's. Unused by State rows.
  int v_head_dim = 0;            ///< 0: the row's head_dim; any other value needs Continuous.
  /// Tokens a query sees, its own included; 0: all. A continuous row then keeps only
  /// window - 1 + max_step_tokens positions; a paged row masks (see PagedParams::window).
  int window = 0;
  std::optional<KVQuantSpec> k_quant = {};  ///< Unset: the config's. KVQuantSpec{}: none.
  std::optional<KVQuantSpec> v_quant = {};
  std::vector<float> k_scale = {};  ///< Static only: 1 or kv_heads scales, finite and positive.
  std::vector<float> v_scale = {};
  std::vector<KVConvSpec> conv = {};     ///< State only.
  KVRecurrentSpec recurrent = {};        ///< State only.
  std::optional<DType> conv_dtype = {};  ///< F32, F16 or BF16; unset: the config's kv_dtype.
  DType state_dtype = DType::F32;        ///< Of the recurrent slab: F32, F16 or BF16.
};

struct KVCacheConfig {
  int num_layers = 0;  ///< Rows; the number of specifications must equal it.
  int max_seqs = 0;    ///< Slots, [1, kMaxSeqs]. Slot-indexed storage grows with it.
  /// Positions of a slot: the capacity of continuous and cross rows. 0 or less: no limit, legal
  /// only where every continuous row has a window.
  std::int64_t max_tokens_per_seq = 0;
  /// Tokens that one step may append to one slot. Needed (> 0) by continuous rows with a window,
  /// whose capacity it enlarges; a larger step raises. 0: not limited.
  std::int64_t max_step_tokens = 0;
  int kv_heads = 0;              ///< For rows that give 0.
  int head_dim = 0;              ///< For rows that give 0.
  DType kv_dtype = DType::BF16;  ///< F32, F16 or BF16; of unquantized K/V and, by default, conv.
  KVQuantSpec k_quant = {};      ///< For attention and cross rows that do not set theirs.
  KVQuantSpec v_quant = {};
  KVCacheMode mode = KVCacheMode::Continuous;
  std::optional<PagedParams> paged = {};  ///< Needed by paged rows, unused without them.
  std::shared_ptr<Device> device = {};    ///< Null: the host. Does not change the footprint.
};

std::string_view to_string(KVCacheMode mode);
std::string_view to_string(Layout layout);
std::string_view to_string(KVLayerKind kind);
std::string_view to_string(KVCodec codec);
std::string_view to_string(KVScale scale);

}  // namespace octavo
