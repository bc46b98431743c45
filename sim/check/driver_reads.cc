// Read-back: rows, states, lengths and tables as they lie on the devices, against the history.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "driver.h"
#include "index.h"
#include "octavo/kv_row_info.h"
#include "octavo/sim/rng.h"

namespace octavo::sim::check {
namespace {

std::string place(const Rig& rig, int slot, int layer, std::int64_t position) {
  return rig.name + ": slot " + std::to_string(slot) + ", layer " + std::to_string(layer) +
         ", position " + std::to_string(position);
}

}  // namespace

// Counts words of 32 bits, the last one perhaps short.
void Driver::compare_bytes(const std::byte* seen,
                           const std::byte* expected,
                           std::size_t size,
                           std::int64_t& differing) {
  figures_.compared_words += static_cast<std::int64_t>((size + 3) / 4);
  if (size == 0 || std::memcmp(seen, expected, size) == 0) {
    return;
  }
  for (std::size_t at = 0; at < size; at += 4) {
    const std::size_t word = std::min<std::size_t>(4, size - at);
    if (std::memcmp(seen + at, expected + at, word) != 0) {
      ++differing;
      ++figures_.differing_words;
    }
  }
}

void Driver::verify_all() {
  for (int slot = 0; slot < setup_.slots; ++slot) {
    look(slot);
  }
  look_at_tables();
  compare_pools();
}

void Driver::look(int slot) {
  for (const auto& rig : rigs_) {
    const std::int32_t length = rig->peek(rig->cache.seq_lens())[index(slot)];
    ++figures_.compared_words;
    if (length != session(slot).reserved) {
      ++figures_.differing_words;
      violated("lengths", rig->name + ": seq_lens shows " + std::to_string(length) + " for slot " +
                              std::to_string(slot) + ", expected " +
                              std::to_string(session(slot).reserved));
    }
    std::vector<std::int32_t> table;
    if (setup_.has_blocks()) {
      table = rig->peek(rig->cache.paged_block_table().select(0, slot));
    }
    look_at_rows(*rig, slot, table);
    if (has_states_ && !session(slot).tokens.empty()) {
      look_at_states(*rig, slot);
    }
  }
}

void Driver::look_at_rows(Rig& rig, int slot, const std::vector<std::int32_t>& table) {
  for (std::size_t i = 0; i < rig.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    if (rig.layers[i].kind == KVLayerKind::State) {
      continue;
    }
    if (rig.layers[i].kind == KVLayerKind::CrossAttentionKV) {
      const std::int32_t length = rig.peek(rig.cache.cross_seq_lens(layer))[index(slot)];
      ++figures_.compared_words;
      if (length != plain_.cross_length(layer, slot)) {
        ++figures_.differing_words;
        violated("lengths", rig.name + ": cross_seq_lens shows " + std::to_string(length) +
                                " for slot " + std::to_string(slot));
      }
    }
    look_at_row(rig, slot, layer, true, table);
    look_at_row(rig, slot, layer, false, table);
  }
}

// Every position that the layer must still be able to answer for.
void Driver::look_at_row(
    const Rig& rig, int slot, int layer, bool is_key, const std::vector<std::int32_t>& table) {
  const Session& session = this->session(slot);
  const LayerStorage& mine = rig.layers[index(layer)];
  const LayerStorage& plain = plain_.layers()[index(layer)];
  const Tensor& tensor = is_key ? mine.keys : mine.values;
  const KVRowInfo& info = *tensor.row_info();
  const RowsView seen(tensor);
  const RowsView expected(is_key ? plain.keys : plain.values);
  const bool is_paged = info.layout == Layout::Paged;
  std::int64_t end = std::ssize(session.tokens);
  std::int64_t begin = 0;
  if (mine.kind == KVLayerKind::CrossAttentionKV) {
    end = plain_.cross_length(layer, slot);
  } else if (!is_paged) {
    begin = std::max<std::int64_t>(0, session.written_end - info.capacity);
  }
  std::int64_t differing = 0;
  std::int64_t first_differing = -1;
  for (std::int64_t p = begin; p < end; ++p) {
    std::int64_t block = slot;
    std::int64_t row = p % info.capacity;
    if (is_paged) {
      block = index(p / info.block_size) < table.size() ? table[index(p / info.block_size)] : -2;
      row = p % info.block_size;
      const std::int64_t released_end = session.committed - setup_.window + 1;
      if (block == -1 && setup_.has(CheckRowKind::Release) &&
          (p / info.block_size + 1) * info.block_size <= released_end) {
        continue;
      }
      if (block < 0 || block >= setup_.blocks) {
        violated("table", place(rig, slot, layer, p) + " lies in block " + std::to_string(block));
      }
    }
    for (std::int64_t head = 0; head < mine.heads(); ++head) {
      const std::int64_t before = differing;
      compare_bytes(seen.row(block, head, row), expected.row(slot, head, p), seen.row_bytes(),
                    differing);
      const float scale = seen.scale(block, head, row);
      const float right = expected.scale(slot, head, p);
      if (seen.has_row_scales()) {
        compare_bytes(reinterpret_cast<const std::byte*>(&scale),
                      reinterpret_cast<const std::byte*>(&right), sizeof(scale), differing);
      }
      first_differing = first_differing < 0 && differing > before ? p : first_differing;
    }
  }
  if (differing > 0) {
    violated("rows",
             place(rig, slot, layer, first_differing) + ": " + (is_key ? "keys" : "values") + " (" +
                 to_string(setup_.rows[index(layer)]) + ") do not hold what the history says; " +
                 std::to_string(differing) + " words of this slot differ");
  }
}

void Driver::look_at_states(const Rig& rig, int slot) {
  const auto compare = [&](const Tensor& seen, const Tensor& expected, std::size_t layer) {
    const HostBytes mine(seen.select(0, slot));
    const HostBytes right(expected.select(0, slot));
    std::int64_t differing = 0;
    compare_bytes(mine.data(), right.data(), mine.size(), differing);
    if (differing > 0) {
      violated("states", rig.name + ": slot " + std::to_string(slot) + ", layer " +
                             std::to_string(layer) + ": " + std::to_string(differing) +
                             " words of a state differ");
    }
  };
  for (std::size_t i = 0; i < rig.layers.size(); ++i) {
    const LayerStorage& mine = rig.layers[i];
    const LayerStorage& plain = plain_.layers()[i];
    for (std::size_t part = 0; part < mine.conv.size(); ++part) {
      compare(mine.conv[part], plain.conv[part], i);
    }
    if (mine.recurrent.defined()) {
      compare(mine.recurrent, plain.recurrent, i);
    }
  }
}

// Every block is in one place: free, in quarantine, or in some slot's row of the table; and what
// lies in a slot's cells is shared only where it is written.
void Driver::look_at_tables() {
  if (!setup_.has_blocks()) {
    return;
  }
  const std::vector<std::int32_t> first =
      rigs_.front()->peek(rigs_.front()->cache.paged_block_table());
  for (const auto& rig : rigs_) {
    const std::vector<std::int32_t> table = rig->peek(rig->cache.paged_block_table());
    std::int64_t differing = 0;
    compare_bytes(reinterpret_cast<const std::byte*>(table.data()),
                  reinterpret_cast<const std::byte*>(first.data()),
                  table.size() * sizeof(std::int32_t), differing);
    if (differing > 0) {
      violated("lockstep", rig->name + " has another block table than " + rigs_.front()->name);
    }
    const std::set<std::int32_t> bound(table.begin(), table.end());
    const std::int64_t count = std::ssize(bound) - static_cast<std::int64_t>(bound.count(-1));
    const std::int64_t sum =
        count + rig->cache.paged_free_blocks() + rig->cache.paged_quarantined_blocks();
    if (sum != setup_.blocks) {
      violated("conservation", rig->name + ": " + std::to_string(count) + " bound, " +
                                   std::to_string(rig->cache.paged_free_blocks()) + " free and " +
                                   std::to_string(rig->cache.paged_quarantined_blocks()) +
                                   " quarantined blocks are not " + std::to_string(setup_.blocks));
    }
  }
}

// Several devices: the storage as a whole, bit for bit.
void Driver::compare_pools() {
  const Rig& first = *rigs_.front();
  for (std::size_t r = 1; r < rigs_.size(); ++r) {
    for (std::size_t i = 0; i < first.layers.size(); ++i) {
      const LayerStorage& a = first.layers[i];
      const LayerStorage& b = rigs_[r]->layers[i];
      if (a.kind == KVLayerKind::State) {
        continue;
      }
      std::int64_t differing = 0;
      for (const bool is_key : {true, false}) {
        const HostBytes seen(is_key ? b.keys : b.values);
        const HostBytes expected(is_key ? a.keys : a.values);
        compare_bytes(seen.data(), expected.data(), seen.size(), differing);
      }
      if (differing > 0) {
        violated("lockstep", rigs_[r]->name + ": layer " + std::to_string(i) + " differs from " +
                                 first.name + " in " + std::to_string(differing) + " words");
      }
    }
  }
}

// --- In binary64, without the devices' arithmetic ---

void Driver::check_stored(const RowsView& rows,
                          int slot,
                          std::int64_t position,
                          std::int64_t head,
                          const Operand& operand,
                          Chain chain) const {
  std::vector<float> given(index(rows.format().elements));
  draw_row(chain, operand, head, given);
  const float scale = rows.scale(slot, head, position);
  const std::vector<double> stored = read_row(rows.format(), rows.row(slot, head, position), scale);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto value = static_cast<double>(given[i]);
    const double most = storage_error_max(rows.format(), value, static_cast<double>(scale));
    if (!(std::abs(stored[i] - value) <= most * 1.0001)) {
      violated("storage", "the oracle stores " + std::to_string(given[i]) + " as " +
                              std::to_string(stored[i]) + " in layer " +
                              std::to_string(operand.layer) + ", which is off by more than " +
                              std::to_string(most));
    }
  }
}

// One row of attention of one token, as the seed decides: what all devices agree on is also right.
void Driver::check_exactly(const Step& step, const std::vector<LayerOutput>& expected) {
  std::uint64_t ticket = setup_.seed ^ step.batch.chains.back();  // Whatever came before it.
  if (splitmix64(ticket) % 4 != 0) {
    return;
  }
  const std::size_t layer = splitmix64(ticket) % expected.size();
  const std::size_t sequence = splitmix64(ticket) % step.batch.slots.size();
  const LayerStorage& storage = plain_.layers()[layer];
  if (storage.kind == KVLayerKind::State) {
    return;
  }
  const std::int64_t heads = storage.heads() * kQueryGroup;
  const auto head = static_cast<std::int64_t>(splitmix64(ticket) % index(heads));
  const auto within =
      static_cast<std::int32_t>(splitmix64(ticket) % index(step.batch.count(sequence)));
  const int slot = step.batch.slots[sequence];
  const std::int64_t position = step.batch.past[sequence] + within;
  const auto token = index(step.batch.cu_seqlens_q[sequence] + within);
  const Chain chain = step.batch.chains[token];
  const RowsView keys(storage.keys);
  const RowsView values(storage.values);
  const std::int64_t kv_head = head / kQueryGroup;
  const bool is_cross = storage.kind == KVLayerKind::CrossAttentionKV;
  const int number = static_cast<int>(layer);
  const std::int64_t window = storage.keys.row_info()->window;
  const std::int64_t end = is_cross ? plain_.cross_length(number, slot) : position + 1;
  const std::int64_t begin = window > 0 ? std::max<std::int64_t>(0, end - window) : 0;
  if (!is_cross) {
    check_stored(keys, slot, position, kv_head, {Role::Key, number, 0}, chain);
    check_stored(values, slot, position, kv_head, {Role::Value, number, 0}, chain);
  }
  std::vector<std::vector<double>> k;
  std::vector<std::vector<double>> v;
  for (std::int64_t p = begin; p < end; ++p) {
    k.push_back(read_row(keys.format(), keys.row(slot, kv_head, p), keys.scale(slot, kv_head, p)));
    v.push_back(
        read_row(values.format(), values.row(slot, kv_head, p), values.scale(slot, kv_head, p)));
  }
  std::vector<float> query(index(keys.format().elements));
  draw_row(chain, {Role::Query, number, 0}, head, query);
  const std::vector<double> right = attend_exactly(query, k, v);
  constexpr double kFarOff = 4e-3;  // Values are below 1; integer rows differ by some 5e-4.
  for (std::size_t i = 0; i < right.size(); ++i) {
    const float mine = expected[layer][(token * index(heads) + index(head)) * right.size() + i];
    if (!(std::abs(static_cast<double>(mine) - right[i]) <= kFarOff)) {
      violated("arithmetic", "attention of slot " + std::to_string(slot) + " in layer " +
                                 std::to_string(layer) + " gave " + std::to_string(mine) +
                                 ", in binary64 it is " + std::to_string(right[i]));
    }
  }
  ++figures_.checked_outputs;
}

}  // namespace octavo::sim::check
