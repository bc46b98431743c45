// Pool sizes as people give them: in blocks, as a share of the trace's distinct blocks, in tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace octavo::tools {

/// A list of sizes in the order given.
class PoolSizes {
 public:
  /// Options NAME and "--tokens" of `command`, both lists "X[,X...]" that may be repeated.
  void add_options(CLI::App& command, const std::string& name, const std::string& description);

  bool empty() const { return sizes_.empty(); }

  /// Whether `blocks` must know the trace's distinct blocks.
  bool needs_distinct() const;

  /// The sizes in blocks. A share or a number of tokens is rounded down, but to no less than 1.
  std::vector<std::int64_t> blocks(std::int64_t block_size, std::int64_t distinct_blocks) const;

  /// What the options do with their text; throw UsageError "NAME: what is wrong". `blocks`: whole
  /// numbers, or with a point a share in (0, 1]; `tokens`: numbers with K, M or G (powers of 1000)
  /// or nothing behind them.
  void parse_blocks(std::string_view name, std::string_view text);
  void parse_tokens(std::string_view name, std::string_view text);

 private:
  enum class Unit { Blocks, Share, Tokens };
  struct Size {
    Unit unit;
    double share;
    std::int64_t count;
  };
  std::vector<Size> sizes_;
};

}  // namespace octavo::tools
