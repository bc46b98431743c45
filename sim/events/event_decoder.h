// Turns the MessagePack of one batch into events, in each of the encodings that engines have used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "msgpack_scanner.h"
#include "octavo/sim/kv_event_log.h"

namespace octavo::sim {

class EventDecoder {
 public:
  /// Replaces time, rank and events of `batch`. Throws MsgpackError for what is no batch; `where`
  /// then says where the decoder was: "event 2, BlockStored.token_ids".
  void decode(std::string_view payload, KvEventBatch& batch);

  /// The place of the last error in the payload.
  std::size_t offset() const noexcept { return offset_; }
  const std::string& where() const noexcept { return where_; }

 private:
  void batch_field(std::string_view name, MsgpackScanner& scanner, KvEventBatch& batch);
  void events(MsgpackScanner& scanner, KvEventBatch& batch);
  void event(MsgpackScanner& scanner, KvEvent& event);
  void event_field(std::string_view name, MsgpackScanner& scanner, KvEvent& event);
  void tokens(MsgpackScanner& scanner, KvEvent& event);
  void salts(MsgpackScanner& scanner, KvEvent& event);
  void check(const KvEvent& event) const;

  std::string where_;
  std::size_t offset_ = 0;
  std::uint64_t adapter_salt_ = 0;  // Of the event at hand.
  unsigned seen_ = 0;               // Required fields of the event or batch at hand.
};

}  // namespace octavo::sim
