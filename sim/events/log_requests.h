// The requests that a KV-event log tells of.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "log_ops.h"

namespace octavo::sim {

/// Stores that continue each other are one request: the blocks that it computed, prompt and
/// generated tokens alike. What it was served is the way from the root to the first of them. Keeps
/// the tokens of the blocks that are cached at one time.
class LogRequests {
 public:
  LogRequests(const std::string& path, const OracleOptions& options) : ops_(path, options) {}

  /// Fills `tokens` with the whole blocks of the next request, or clears it when the engine cleared
  /// its cache there. False at the end. Raises InputError for a store that continues a block which
  /// is not cached, or that leaves out its tokens.
  bool next(std::vector<std::int32_t>& tokens);

 private:
  struct Block {
    std::optional<KvBlockName> parent;
    std::vector<std::int32_t> tokens;
  };

  void begin(const LogOp& op, std::vector<std::int32_t>& tokens);

  LogOps ops_;
  LogOp op_;
  bool has_op_ = false;  // `op_` was read and belongs to the next request.
  // Looked up by name only, never iterated: its order decides nothing.
  std::unordered_map<KvBlockName, Block> cached_;
};

}  // namespace octavo::sim
