#include "event_decoder.h"

#include <array>
#include <limits>
#include <span>

#include "octavo/sim/rng.h"

namespace octavo::sim {
namespace {

using Type = MsgpackType;

// The order of fields where events are arrays. What stands behind the last one is not known yet and
// passed over, as are unknown names where they are maps.
constexpr std::array<std::string_view, 12> kStoredFields{
    "block_hashes", "parent_block_hash", "token_ids", "block_size",         "lora_id", "medium",
    "lora_name",    "extra_keys",        "group_idx", "kv_cache_spec_kind", "",        "locality"};
constexpr std::array<std::string_view, 4> kRemovedFields{"block_hashes", "medium", "group_idx",
                                                         "locality"};
constexpr std::array<std::string_view, 3> kBatchFields{"ts", "events", "data_parallel_rank"};

enum Required : unsigned { kHashes = 1, kParent = 2, kTokens = 4, kBlockSize = 8 };
constexpr unsigned kTime = 1;
constexpr unsigned kEvents = 2;

// A hash of bytes for telling adapters and extra keys apart.
std::uint64_t salt_of(std::uint64_t state, std::string_view bytes) {
  for (const char c : bytes) {
    state ^= static_cast<unsigned char>(c);
    state = splitmix64(state);
  }
  return state;
}

KvBlockName read_name(MsgpackScanner& scanner) {
  const Type type = scanner.peek();
  if (type == Type::Integer) {
    const std::uint64_t bits = scanner.integer_bits();
    KvBlockName name = "i";
    for (int shift = 56; shift >= 0; shift -= 8) {
      name += static_cast<char>(bits >> shift & 0xffU);
    }
    return name;
  }
  if (type != Type::Binary && type != Type::String) {
    throw MsgpackError(std::string("is ") + describe(type) +
                       ", expected an integer or a byte string");
  }
  KvBlockName name = "b";
  name += scanner.bytes();
  return name;
}

std::int64_t read_integer(MsgpackScanner& scanner, std::int64_t low, std::int64_t high) {
  const std::int64_t value = scanner.integer();
  if (value < low || value > high) {
    throw MsgpackError("is out of range (" + std::to_string(value) + "), expected an integer in [" +
                       std::to_string(low) + ", " + std::to_string(high) + "]");
  }
  return value;
}

std::string read_text(MsgpackScanner& scanner) {
  return scanner.is_nil_then_skip() ? std::string() : std::string(scanner.bytes());
}

KvEventKind kind_of(std::string_view tag) {
  for (const KvEventKind kind :
       {KvEventKind::BlockStored, KvEventKind::BlockRemoved, KvEventKind::AllBlocksCleared}) {
    if (tag == to_string(kind)) {
      return kind;
    }
  }
  std::string shown;
  for (const char c : tag.substr(0, 40)) {
    shown += c >= ' ' && c <= '~' ? c : '?';
  }
  throw MsgpackError("is \"" + shown +
                     "\", expected BlockStored, BlockRemoved or AllBlocksCleared");
}

std::span<const std::string_view> fields_of(KvEventKind kind) {
  switch (kind) {
    case KvEventKind::BlockStored:
      return kStoredFields;
    case KvEventKind::BlockRemoved:
      return kRemovedFields;
    case KvEventKind::AllBlocksCleared:
      break;
  }
  return {};
}

}  // namespace

void EventDecoder::decode(std::string_view payload, KvEventBatch& batch) {
  MsgpackScanner scanner(payload);
  batch.time_s = 0;
  batch.rank.reset();
  batch.events.clear();
  where_.clear();
  offset_ = 0;
  unsigned seen = 0;
  const auto field = [&](std::string_view name) {
    where_ = name;
    offset_ = scanner.offset();
    seen |= name == "ts" ? kTime : (name == "events" ? kEvents : 0U);
    batch_field(name, scanner, batch);
  };
  if (scanner.peek() == Type::Map) {
    for (std::uint32_t left = scanner.map(); left > 0; --left) {
      field(scanner.bytes());
    }
  } else {
    const std::uint32_t count = scanner.array();
    for (std::uint32_t i = 0; i < count; ++i) {
      field(i < kBatchFields.size() ? kBatchFields[i] : "");
    }
  }
  if (seen != (kTime | kEvents)) {
    where_ = (seen & kTime) == 0 ? "ts" : "events";
    throw MsgpackError("missing, expected a batch of time and events");
  }
  if (!scanner.at_end()) {
    where_.clear();
    offset_ = scanner.offset();
    throw MsgpackError("more bytes behind the batch, expected its end");
  }
}

void EventDecoder::batch_field(std::string_view name,
                               MsgpackScanner& scanner,
                               KvEventBatch& batch) {
  if (name == "ts") {
    batch.time_s = scanner.number();
  } else if (name == "events") {
    events(scanner, batch);
  } else if (name == "data_parallel_rank" || name == "attn_dp_rank") {
    if (!scanner.is_nil_then_skip()) {
      batch.rank = read_integer(scanner, 0, std::numeric_limits<std::int32_t>::max());
    }
  } else {
    scanner.skip();
  }
}

void EventDecoder::events(MsgpackScanner& scanner, KvEventBatch& batch) {
  const std::uint32_t count = scanner.array();
  for (std::uint32_t i = 0; i < count; ++i) {
    where_ = "event " + std::to_string(i + 1);
    offset_ = scanner.offset();
    event(scanner, batch.events.emplace_back());
  }
}

void EventDecoder::event(MsgpackScanner& scanner, KvEvent& event) {
  const std::string number = where_;
  const auto field = [&](std::string_view name) {
    where_ = number + ", " + to_string(event.kind) + "." + std::string(name);
    offset_ = scanner.offset();
    event_field(name, scanner, event);
  };
  adapter_salt_ = 0;
  seen_ = 0;
  if (scanner.peek() == Type::Map) {
    MsgpackScanner ahead = scanner;  // The kind need not come first.
    bool found = false;
    for (std::uint32_t left = ahead.map(); left > 0; --left) {
      if (ahead.bytes() == "type") {
        event.kind = kind_of(ahead.bytes());
        found = true;
      } else {
        ahead.skip();
      }
    }
    if (!found) {
      throw MsgpackError("has no \"type\", expected one");
    }
    for (std::uint32_t left = scanner.map(); left > 0; --left) {
      field(scanner.bytes());
    }
  } else {
    const std::uint32_t count = scanner.array();
    if (count == 0) {
      throw MsgpackError("is an empty array, expected the event's name and its fields");
    }
    event.kind = kind_of(scanner.bytes());
    const auto fields = fields_of(event.kind);
    for (std::uint32_t i = 1; i < count; ++i) {
      field(i <= fields.size() ? fields[i - 1] : "");
    }
  }
  where_ = number + ", " + to_string(event.kind);
  check(event);
  if (event.kind == KvEventKind::BlockStored) {
    event.content_salts.resize(event.block_hashes.size());
    for (std::uint64_t& salt : event.content_salts) {
      salt ^= adapter_salt_;
    }
  }
}

void EventDecoder::event_field(std::string_view name, MsgpackScanner& scanner, KvEvent& event) {
  const bool is_stored = event.kind == KvEventKind::BlockStored;
  if (event.kind != KvEventKind::AllBlocksCleared && name == "block_hashes") {
    seen_ |= kHashes;
    for (std::uint32_t left = scanner.array(); left > 0; --left) {
      event.block_hashes.push_back(read_name(scanner));
    }
  } else if (is_stored && name == "parent_block_hash") {
    seen_ |= kParent;
    if (!scanner.is_nil_then_skip()) {
      event.parent_block_hash = read_name(scanner);
    }
  } else if (is_stored && name == "token_ids") {
    seen_ |= kTokens;
    tokens(scanner, event);
  } else if (is_stored && name == "block_size") {
    seen_ |= kBlockSize;
    event.block_size = read_integer(scanner, 1, 65536);
  } else if (is_stored && (name == "lora_id" || name == "lora_name")) {
    if (const std::string_view value = scanner.skip(); value != "\xc0") {  // nil
      adapter_salt_ = salt_of(adapter_salt_ + 1, value);
    }
  } else if (is_stored && name == "extra_keys") {
    salts(scanner, event);
  } else if (name == "medium") {
    event.medium = read_text(scanner);
  } else if (name == "group_idx") {
    event.group = scanner.is_nil_then_skip()
                      ? 0
                      : read_integer(scanner, 0, std::numeric_limits<std::int32_t>::max());
  } else {
    scanner.skip();
  }
}

void EventDecoder::tokens(MsgpackScanner& scanner, KvEvent& event) {
  const std::uint32_t count = scanner.array();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t id = read_integer(scanner, std::numeric_limits<std::int32_t>::min(),
                                         std::numeric_limits<std::uint32_t>::max());
    event.token_ids.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(id)));
  }
}

void EventDecoder::salts(MsgpackScanner& scanner, KvEvent& event) {
  if (scanner.is_nil_then_skip()) {
    return;
  }
  for (std::uint32_t left = scanner.array(); left > 0; --left) {
    const std::string_view value = scanner.skip();
    const bool is_empty = value == "\xc0" || value == "\x90";  // nil, []
    event.content_salts.push_back(is_empty ? 0 : salt_of(1, value));
  }
}

void EventDecoder::check(const KvEvent& event) const {
  if (event.kind == KvEventKind::AllBlocksCleared) {
    return;
  }
  const bool is_stored = event.kind == KvEventKind::BlockStored;
  const unsigned required = is_stored ? kHashes | kParent | kTokens | kBlockSize : kHashes;
  if (const unsigned missing = required & ~seen_; missing != 0) {
    const char* name = (missing & kHashes) != 0   ? "block_hashes"
                       : (missing & kParent) != 0 ? "parent_block_hash"
                       : (missing & kTokens) != 0 ? "token_ids"
                                                  : "block_size";
    throw MsgpackError(std::string("has no ") + name + ", expected one");
  }
  if (event.block_hashes.empty()) {
    throw MsgpackError("names no block, expected at least one in block_hashes");
  }
  const auto blocks = static_cast<std::int64_t>(event.block_hashes.size());
  const auto tokens = static_cast<std::int64_t>(event.token_ids.size());
  if (is_stored && tokens != 0 && tokens != blocks * event.block_size) {
    throw MsgpackError("token_ids has " + std::to_string(tokens) + " ids, expected " +
                       std::to_string(blocks * event.block_size) + " = " + std::to_string(blocks) +
                       " blocks of block_size " + std::to_string(event.block_size) + ", or none");
  }
  if (!event.content_salts.empty() && event.content_salts.size() != event.block_hashes.size()) {
    throw MsgpackError("extra_keys has " + std::to_string(event.content_salts.size()) +
                       " entries, expected " + std::to_string(blocks) + ", one a block");
  }
}

}  // namespace octavo::sim
