// A reader around another one that gives partial tails ids of their own.

#include "prefix_chain.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

// The "parent" of all tails; no chain of blocks has it but by chance (chain_id).
constexpr std::uint64_t kTailRoot = 0x7461696c7461696cULL;

class UniqueTails final : public TraceReader {
 public:
  explicit UniqueTails(std::unique_ptr<TraceReader> reader)
      : TraceReader(reader->name(), reader->format(), reader->block_size(), with_tails(*reader)),
        reader_(std::move(reader)) {}

  std::int64_t line() const noexcept override { return reader_->line(); }
  std::int64_t skipped() const noexcept override { return reader_->skipped(); }

 private:
  static TraceTraits with_tails(const TraceReader& reader) {
    TraceTraits traits = reader.traits();
    traits.tail_has_id = true;
    return traits;
  }

  bool read(TraceRequest& request) override {
    if (!reader_->next(request)) {
      return false;
    }
    if (request.input_tokens % block_size() != 0) {
      request.block_ids.push_back(chain_id(kTailRoot, count_));
    }
    ++count_;
    return true;
  }

  std::unique_ptr<TraceReader> reader_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> with_unique_tails(std::unique_ptr<TraceReader> reader) {
  if (!reader->traits().prefix_ids || reader->traits().tail_has_id) {
    return reader;
  }
  return std::make_unique<UniqueTails>(std::move(reader));
}

}  // namespace octavo::sim
