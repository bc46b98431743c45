#include "tests/cache/support/story_server.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "octavo/kv_row_info.h"
#include "octavo/ref_cpu/cpu_device.h"

namespace octavo::testing {
namespace {

Stack on_device(Stack stack, std::shared_ptr<Device> device) {
  stack.config.device = device != nullptr ? std::move(device) : make_cpu_device(1);
  stack.config.num_layers = static_cast<int>(stack.specs.size());
  return stack;
}

// The same rows, but every sequence alone in storage of its own that never wraps.
Stack plain(Stack stack) {
  stack.config.mode = KVCacheMode::Continuous;
  stack.config.paged.reset();
  stack.config.max_seqs = 1;
  stack.config.max_step_tokens = stack.config.max_tokens_per_seq;
  for (KVLayerSpec& spec : stack.specs) {
    spec.layout = Layout::Auto;
  }
  return stack;
}

std::size_t bytes(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

// Behind the back of a device that counts its calls and may be failing.
void overwrite(const Tensor& tensor, int byte) {
  if (tensor.device()->host_accessible()) {
    std::memset(tensor.address(), byte, static_cast<std::size_t>(tensor.size_bytes()));
  } else {
    tensor.device()->fill(tensor.address(), static_cast<std::uint8_t>(byte), tensor.size_bytes());
  }
}

}  // namespace

Recomputation::Recomputation(const Stack& stack)
    : stack_(on_device(plain(stack), nullptr)), device_(stack_.config.device) {}

const std::vector<Bits>& Recomputation::of(Chain seed, int encoder, const Ids& tokens) {
  auto [entry, is_new] = known_.try_emplace({seed, encoder, tokens});
  if (is_new) {
    KVCache cache = KVCache::make(stack_.config, stack_.specs);
    if (encoder != StoryServer::kNoEncoder) {
      fill_layers(cache, stack_, 0, encoder);
    }
    StoryStep step;
    step.chains = chains(seed, tokens);
    step.cu_seqlens_q = {0, static_cast<std::int32_t>(tokens.size())};
    step.slots = {0};
    step.indices = cache.prepare_step(step.cu_seqlens_q, Ids{0}, step.slots);
    entry->second = run_layers(cache, stack_, step);
  }
  return entry->second;
}

StoryServer::StoryServer(const Stack& stack, std::shared_ptr<Device> device)
    : stack_(on_device(stack, std::move(device))),
      cache_(KVCache::make(stack_.config, stack_.specs)),
      recomputation_(stack),
      sessions_(static_cast<std::size_t>(stack.config.max_seqs)) {
  for (int slot = 0; slot < slots(); ++slot) {
    ruin_states(slot);
  }
}

// --- Verbs ---

Chain StoryServer::seed_of(std::uint64_t namespace_id) {
  return namespace_id * 1000 + versions_[namespace_id];
}

// A slot that was given no namespace belongs to 0, as it is when the slot stops being fresh.
void StoryServer::begin(Session& session) {
  if (!session.is_active && !session.has_namespace) {
    session.seed = seed_of(0);
  }
  session.is_active = true;
}

std::int64_t StoryServer::admit(int slot, const Ids& prompt, std::int64_t addressable_len) {
  const std::int64_t served = cache_.admit(slot, ids(prompt), addressable_len);
  Session& session = at(slot);
  begin(session);
  session.is_admitted = true;
  session.prompt = prompt;
  session.addressable_len = addressable_len;
  session.tokens.assign(prompt.begin(), prompt.begin() + served);
  session.committed = session.written_end = served;
  check();
  return served;
}

StoryServer::Prepared StoryServer::prepare(const std::vector<std::pair<int, Ids>>& batch) {
  Prepared prepared;
  StoryStep& step = prepared.step;
  step.cu_seqlens_q = {0};
  for (const auto& [slot, tokens] : batch) {
    step.cu_seqlens_q.push_back(step.cu_seqlens_q.back() +
                                static_cast<std::int32_t>(tokens.size()));
    step.slots.push_back(slot);
    prepared.past.push_back(static_cast<std::int32_t>(session(slot).tokens.size()));
  }
  step.indices = cache_.prepare_step(step.cu_seqlens_q, prepared.past, step.slots);
  for (const auto& [slot, tokens] : batch) {
    Session& session = at(slot);
    begin(session);
    const auto past = static_cast<std::int64_t>(session.tokens.size());
    const std::int64_t end = past + std::ssize(tokens);
    session.committed = past;
    session.written_end = std::max(past == 0 ? 0 : session.written_end, end);
    ruin_unwritten(slot, past);
    const Chain before = past == 0 ? session.seed : chains(session.seed, session.tokens).back();
    const std::vector<Chain> added = chains(before, tokens);
    step.chains.insert(step.chains.end(), added.begin(), added.end());
  }
  return prepared;
}

void StoryServer::run(const std::vector<std::pair<int, Ids>>& batch) {
  const Prepared prepared = prepare(batch);
  const std::vector<Bits> seen = run_layers(cache_, stack_, prepared.step);
  std::size_t token = 0;
  for (const auto& [slot, tokens] : batch) {
    Session& session = at(slot);
    const std::size_t past = session.tokens.size();
    session.tokens.insert(session.tokens.end(), tokens.begin(), tokens.end());
    const auto& expected = recomputation_.of(session.seed, session.encoder, session.tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i, ++token, ++compared_) {
      if (seen[token] != expected[past + i]) {
        throw std::runtime_error("slot " + std::to_string(slot) + ": token " +
                                 std::to_string(past + i) + " saw something else than its history");
      }
    }
  }
  check();
}

void StoryServer::prepare_only(const std::vector<std::pair<int, Ids>>& batch) {
  (void)prepare(batch);
  check();
}

void StoryServer::reserve(int slot, std::int32_t count) {
  const std::int64_t offset = host(cache_.reserve(ids({slot}), Ids{count}))[0];
  Session& session = at(slot);
  begin(session);
  session.committed = offset;
  session.written_end = std::max(offset == 0 ? 0 : session.written_end, offset + count);
  check();
}

bool StoryServer::is_failed(int slot) {
  try {
    cache_.admit(slot, {});
  } catch (const Error& error) {
    return std::string_view(error.what()).find("abandon_batch") != std::string_view::npos;
  }
  return false;
}

void StoryServer::look() {
  const Ids lens = host(cache_.seq_lens());
  for (int slot = 0; slot < slots(); ++slot) {
    const std::int64_t reserved = cache_.reserved_len(slot);
    bool is_right = lens[static_cast<std::size_t>(slot)] == reserved;
    if (cache_.paged_num_blocks() > 0) {
      const std::int64_t size = stack_.config.paged->block_size;
      const auto cells = std::ssize(table_row(cache_, slot));
      is_right = is_right && cells >= (reserved + size - 1) / size &&
                 (session(slot).is_active || cells == 0);
    }
    if (!is_right) {
      throw std::runtime_error("slot " + std::to_string(slot) + " shows something else");
    }
  }
}

void StoryServer::run_prompt(int slot, std::int64_t chunk) {
  const Ids prompt = session(slot).prompt;
  const std::int64_t limit = stack_.config.max_step_tokens;
  while (session(slot).tokens.size() < prompt.size()) {
    const std::int64_t past = std::ssize(session(slot).tokens);
    std::int64_t count = std::ssize(prompt) - past;
    for (const std::int64_t most : {chunk, limit}) {
      count = most > 0 ? std::min(count, most) : count;
    }
    run({{slot, Ids(prompt.begin() + past, prompt.begin() + past + count)}});
  }
}

void StoryServer::rewind(int slot, std::int64_t position) {
  const bool goes_back = position < cache_.reserved_len(slot);
  cache_.update_position(slot, position);
  Session& session = at(slot);
  if (goes_back && position < std::ssize(session.prompt)) {
    session.prompt.resize(static_cast<std::size_t>(position));  // It may go on in another way.
  }
  session.tokens.resize(static_cast<std::size_t>(position));
  session.committed = position;
  session.written_end = position == 0 ? 0 : std::max(session.written_end, position);
  check();
}

void StoryServer::retire(int slot,
                         std::int64_t length,
                         const std::vector<std::int64_t>& boundaries) {
  const Session& session = this->session(slot);
  Ids history = session.tokens;
  history.resize(static_cast<std::size_t>(length < 0 ? std::ssize(history) : length));
  cache_.retire(slot, ids(history), session.addressable_len, boundaries);
  end(slot);
  check();
}

void StoryServer::evict(int slot) {
  cache_.evict_batch(slot);
  end(slot);
  check();
}

void StoryServer::abandon(const std::vector<int>& slots) {
  for (const int slot : slots) {
    if (cache_.paged_num_blocks() > 0 && cache_.reserved_len(slot) > 0) {
      // What the latest step writes; it can be in blocks of the slot's own only.
      const Ids row = table_row(cache_, slot);
      const std::int64_t size = stack_.config.paged->block_size;
      for (std::int64_t p = cache_.committed_len(slot); p < cache_.reserved_len(slot); ++p) {
        haunted_.emplace(row.at(static_cast<std::size_t>(p / size)), p % size);
      }
    }
    cache_.abandon_batch(slot);
    end(slot);
  }
  check();
}

void StoryServer::release_quarantined() {
  haunted_.clear();
  cache_.release_quarantined();
  check();
}

void StoryServer::reset() {
  haunted_.clear();
  cache_.reset();
  for (int slot = 0; slot < slots(); ++slot) {
    end(slot);
  }
  check();
}

void StoryServer::set_namespace(int slot, std::uint64_t namespace_id) {
  cache_.set_namespace(slot, namespace_id);
  at(slot).seed = seed_of(namespace_id);
  at(slot).namespace_id = namespace_id;
  at(slot).has_namespace = true;
  check();
}

void StoryServer::invalidate_namespace(std::uint64_t namespace_id) {
  cache_.invalidate_namespace(namespace_id);
  ++versions_[namespace_id];
  check();
}

void StoryServer::fill(int slot, int encoder) {
  fill_layers(cache_, stack_, slot, encoder);
  at(slot).encoder = encoder;
  check();
}

std::int64_t StoryServer::cache_story(int slot, const Ids& tokens) {
  const std::int64_t served = admit(slot, tokens);
  run_prompt(slot);
  retire(slot);
  return served;
}

void StoryServer::end(int slot) {
  at(slot) = {};
  ruin_states(slot);
}

void StoryServer::check() {
  haunt();
  cache_.audit();
  for (int slot = 0; slot < slots(); ++slot) {
    const std::int64_t reserved = cache_.reserved_len(slot);
    if (reserved < std::ssize(session(slot).tokens) ||
        cache_.committed_len(slot) != session(slot).committed) {
      throw std::runtime_error("slot " + std::to_string(slot) + " has other lengths");
    }
  }
}

// --- Ruin ---

// Bytes 0x7F are large numbers, bytes 0xFF are NaN: one spoils a maximum, the other a product.
void StoryServer::ruin_row(const Tensor& rows, std::int64_t block, std::int64_t row) const {
  const int byte = ruin_is_nan_ ? 0xFF : 0x7F;
  for (std::int64_t head = 0; head < rows.size(1); ++head) {
    const Tensor place = rows.select(0, block).select(0, head).select(0, row);
    overwrite(place, byte);
    const KVRowInfo& info = *rows.row_info();
    if (info.codec != KVCodec::None && info.scale == KVScale::PerTokenHead) {
      overwrite(info.scales.select(0, block).select(0, head).select(0, row), byte);
    }
  }
}

void StoryServer::ruin_paged(const Tensor& rows, int slot, std::int64_t past) {
  const Ids row = table_row(cache_, slot);
  const std::int64_t size = rows.size(2);
  for (std::int64_t p = past; p < std::ssize(row) * size; ++p) {
    ruin_row(rows, row[static_cast<std::size_t>(p / size)], p % size);
  }
}

// Everything but the positions before `past` that the storage still holds.
void StoryServer::ruin_continuous(const Tensor& rows,
                                  int slot,
                                  const Session& session,
                                  std::int64_t past) {
  const std::int64_t capacity = rows.size(2);
  std::vector<bool> is_held(bytes(capacity), false);
  for (std::int64_t p = std::max<std::int64_t>(0, session.written_end - capacity); p < past; ++p) {
    is_held[bytes(p % capacity)] = true;
  }
  for (std::int64_t row = 0; row < capacity; ++row) {
    if (!is_held[bytes(row)]) {
      ruin_row(rows, slot, row);
    }
  }
}

// Rows from `past` on are the step's to write, and nobody else's to read.
void StoryServer::ruin_unwritten(int slot, std::int64_t past) {
  ruin_is_nan_ = !ruin_is_nan_;
  for (int layer = 0; layer < cache_.num_layers(); ++layer) {
    if (stack_.specs[static_cast<std::size_t>(layer)].kind != KVLayerKind::AttentionKV) {
      continue;
    }
    for (const Tensor& rows : {cache_.keys(layer), cache_.values(layer)}) {
      if (rows.row_info()->layout == Layout::Paged) {
        ruin_paged(rows, slot, past);
      } else {
        ruin_continuous(rows, slot, session(slot), past);
      }
    }
  }
}

// What a slot leaves behind: its states, and its cross-attention rows.
void StoryServer::ruin_states(int slot) {
  ruin_is_nan_ = !ruin_is_nan_;
  const auto ruin = [&](const Tensor& state) {
    overwrite(state.select(0, slot), ruin_is_nan_ ? 0xFF : 0x7F);
  };
  for (int layer = 0; layer < cache_.num_layers(); ++layer) {
    const KVLayerSpec& spec = stack_.specs[static_cast<std::size_t>(layer)];
    if (spec.kind == KVLayerKind::State) {
      for (int index = 0; index < static_cast<int>(spec.conv.size()); ++index) {
        ruin(cache_.conv_state(layer, index));
      }
      if (spec.recurrent.heads > 0) {
        ruin(cache_.recurrent_state(layer));
      }
    } else if (spec.kind == KVLayerKind::CrossAttentionKV) {
      for (const Tensor& rows : {cache_.keys(layer), cache_.values(layer)}) {
        for (std::int64_t row = 0; row < rows.size(2); ++row) {
          ruin_row(rows, slot, row);
        }
      }
    }
  }
}

// A failed device writes on for as long as nobody says that it is healthy.
void StoryServer::haunt() {
  for (int layer = 0; layer < cache_.num_layers() && !haunted_.empty(); ++layer) {
    if (stack_.specs[static_cast<std::size_t>(layer)].kind == KVLayerKind::AttentionKV &&
        cache_.keys(layer).row_info()->layout == Layout::Paged) {
      for (const auto& [block, row] : haunted_) {
        ruin_row(cache_.keys(layer), block, row);
        ruin_row(cache_.values(layer), block, row);
      }
    }
  }
}

}  // namespace octavo::testing
