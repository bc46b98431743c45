// NaiveModel: what a BlockManager must do, written to be obviously right and for nothing else.
//
// Same verbs, same arguments, no block ids: a block in use is a `Block`, a number that is counted
// up and never used twice, so that the model says *which* cells share a block and leaves open where
// it lies. Prefixes are looked up by the tokens themselves in ordinary maps. A plain value: copy it
// to remember a state.
//
// Where a call is wrong in several ways the model does not care which is named: it refuses with all
// codes that apply. Running out of blocks only counts when nothing else is wrong.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "naive_order.h"
#include "octavo/block_manager.h"
#include "octavo/error.h"

namespace octavo::testkit {

using Token = std::int32_t;
using Tokens = std::vector<Token>;
using Block = std::int64_t;
inline constexpr Block kNoBlock = -1;  ///< A cell whose block a window has released.

/// Thrown by the model where a manager throws an Error with one of the codes.
struct Refusal {
  std::set<ErrorCode> codes;
};

/// What a sealed block is found by: the whole history up to its end, in a generation of a
/// namespace.
struct Prefix {
  std::uint64_t space = 0;
  std::uint64_t generation = 0;
  Tokens tokens;
  friend auto operator<=>(const Prefix&, const Prefix&) = default;
};

/// A partial key: the tokens that follow its parent's and the block that has their rows.
struct PartialKey {
  Tokens tail;
  Block owner = kNoBlock;
};

struct ModelCopy {
  Block src = kNoBlock;
  Block dst = kNoBlock;
  std::int64_t rows = 0;
};

struct ModelStepPlan {
  std::vector<std::int32_t> cu_seqlens_k;
  bool decode = false;
};

/// Turns of the rules that a suite wants to have taken at least once.
enum class Branch {
  TakenOver,           ///< A partial hit without a copy.
  CopiedOnAdmit,       ///< A partial hit with one,
  CopiedFromLive,      ///< from a block that a slot is still appending to.
  SourceSpared,        ///< The copy's source was next in line and another block was evicted.
  CopyDropped,         ///< No block for the copy: a block-aligned hit.
  CopiedOnWrite,       ///< A write after a rewind into a named or shared block,
  OwnBlockReused,      ///< where a private block of the slot received the copy.
  GivenUp,             ///< A named or shared block was replaced.
  PromptCut,           ///< A rewind into the prompt.
  Duplicate,           ///< A sealed node had a block already,
  DuplicateUnparked,   ///< a parked one;
  DuplicateParked,     ///< the slot's own block had keys and was parked.
  TakenOverSealed,     ///< A block with partial keys was sealed.
  KeyRenamed,          ///< A key was named again.
  KeyDisplaced,        ///< A fifth key under one parent,
  KeyDisplacedFrees,   ///< whose block was parked and had no other name,
  KeyDisplacedHeld,    ///< or a slot had taken it over.
  Evicted,             ///< A parked block was taken.
  Quarantined,         ///< A block in flight was abandoned,
  KeyQuarantined,      ///< and lost keys by it.
  StaleAdmitted,       ///< A slot of an older generation was admitted,
  StaleSealedNothing,  ///< committed a whole block of its prompt,
  StaleRetired,        ///< was retired.
  AddressableCut,      ///< A hit or an enrolment that the addressable length cut.
  WindowReleased,      ///< A block fell behind the window.
};
inline constexpr int kBranches = 25;
std::string_view to_string(Branch branch);

struct ModelSlot {
  bool fresh = true;
  std::uint64_t space = 0;
  std::optional<std::uint64_t> generation;  ///< Given by set_namespace, at the latest by first use.
  std::vector<Block> cells;
  std::int64_t reserved = 0;
  std::int64_t committed = 0;
  std::int64_t in_flight_end = 0;    ///< A device may be writing [committed, in_flight_end).
  bool stepped = false;              ///< Something was reserved since the last rewind.
  std::int64_t released_blocks = 0;  ///< Leading cells that a window has given back.
  Tokens prompt;                     ///< As admitted, cut by rewinds.
  std::int64_t prompt_length = 0;    ///< As admitted.
  std::int64_t addressable = 0;      ///< min(addressable_len, prompt_length) of the admit.
  std::int64_t enrolled_blocks = 0;  ///< Leading whole blocks to be sealed once they are committed.
};

class NaiveModel {
 public:
  using Ids = std::span<const Token>;

  explicit NaiveModel(const BlockManagerConfig& config);

  void set_namespace(int slot, std::uint64_t namespace_id);
  std::int64_t admit(int slot, Ids prompt, std::int64_t addressable_len = kAddressableAll);
  void reserve(Ids slots, Ids n_new, std::span<std::int32_t> offsets);
  ModelStepPlan prepare_step(Ids cu_seqlens_q, Ids past_len, Ids slots);
  void update_position(int slot, std::int64_t new_pos);
  void retire(int slot,
              Ids history,
              std::int64_t addressable_len = kAddressableAll,
              std::span<const std::int64_t> boundaries = {});
  void evict(int slot);
  void abandon(int slot);
  std::int64_t release_quarantined();
  void invalidate_namespace(std::uint64_t namespace_id);
  void reset();
  void set_retention(int slot, int priority, std::int64_t ttl_ticks);
  void advance_clock(std::int64_t now_ticks);

  const BlockManagerConfig& config() const { return config_; }
  const std::vector<ModelSlot>& slots() const { return slots_; }
  const std::map<Prefix, Block>& nodes() const { return nodes_; }
  const std::map<Prefix, std::vector<PartialKey>>& keys() const { return keys_; }
  const std::vector<Block>& parked() const { return parked_; }
  const std::vector<Block>& quarantined() const { return quarantined_; }
  const std::vector<ModelCopy>& copies() const { return copies_; }
  const BlockManagerStats& stats() const { return stats_; }
  /// How often each branch was taken, by calls that were not refused.
  const std::array<std::int64_t, kBranches>& branches() const { return branches_; }
  std::int64_t unused_blocks() const { return unused_; }  ///< Neither held nor parked.
  std::int64_t row_tokens() const { return row_tokens_; }
  bool stale(const ModelSlot& slot) const;
  bool sealed(Block block) const;
  int holders(Block block) const;  ///< Cells that name it.

  /// Throws std::logic_error when the rules themselves went wrong: an orphaned key, a key displaced
  /// too late, a shared block that is not sealed, a block lost or counted twice.
  void check() const;
  /// What can be told from outside, in text. Equal for states that differ only in the numbers of
  /// their blocks.
  std::string observable() const;
  /// All of the state: observable(), and what the slots remember for their next calls.
  std::string fingerprint() const;

 private:
  enum class Use { Step, Copy };

  void mark(Branch branch, bool taken = true) {
    branches_[static_cast<std::size_t>(branch)] += taken ? 1 : 0;
  }
  bool has(int slot) const { return slot >= 0 && slot < config_.max_seqs; }
  bool sharing() const { return config_.prefix_caching && config_.window == 0; }
  ModelSlot& open(int slot);
  std::uint64_t generation_of(std::uint64_t space) const;
  Prefix prefix(const ModelSlot& slot, Ids tokens, std::int64_t length) const;
  std::int64_t key_length(Block block) const;
  std::optional<PartialKey> best_key(const Prefix& parent, Ids rest, std::int64_t limit) const;

  bool ordered() const { return config_.policy != EvictionPolicy::Lru; }
  bool may_leave(Block block) const;
  NaiveOrder::MayLeave leaves() const {
    return [this](Block block) { return may_leave(block); };
  }
  Block next_victim(Block spared);
  Block take(Use use, Block spared = kNoBlock);
  void unpark(Block block);
  void forget(Block block);
  void let_go(Block block);
  void release(int slot);
  void bind_cached(ModelSlot& slot, Ids prompt);
  void bind_partial(ModelSlot& slot, const PartialKey& key);
  void commit(ModelSlot& slot, std::int64_t position);
  void seal(ModelSlot& slot, Ids history, std::int64_t blocks);
  void act(const ModelSlot& slot);
  void name(const ModelSlot& slot, Ids history, std::int64_t length);
  bool make_writable(ModelSlot& slot, std::int64_t count, std::vector<Block>& given_up);
  bool extend(Ids slots, const std::vector<std::int64_t>& counts, std::int64_t available);
  bool held_after_rewind(const ModelSlot& slot, std::int64_t position) const;
  void note_high_water();

  BlockManagerConfig config_;
  std::int64_t row_tokens_ = 0;
  std::vector<ModelSlot> slots_;
  std::map<Prefix, Block> nodes_;
  std::map<Prefix, std::vector<PartialKey>> keys_;  ///< By parent; the latest named last.
  std::vector<Block> parked_;                       ///< The least recently parked first.
  NaiveOrder order_;                                ///< Of every policy but Lru.
  std::vector<Block> quarantined_;
  std::map<std::uint64_t, std::uint64_t> generations_;
  std::int64_t unused_ = 0;
  Block last_block_ = 0;
  std::vector<ModelCopy> copies_;
  BlockManagerStats stats_;
  std::array<std::int64_t, kBranches> branches_{};
};

}  // namespace octavo::testkit
