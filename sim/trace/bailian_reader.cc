// Qwen-Bailian JSONL: one object a request, with seconds, ids of the contents of single blocks of
// 16 tokens, and the chat that it goes on. The ids are chained into prefix ids, and the root of a
// chat's tree gives the session.
//
// Takes memory for each chat of the file.

#include <unordered_map>

#include "decimal.h"
#include "json_scanner.h"
#include "prefix_chain.h"
#include "trace_fields.h"
#include "trace_readers.h"

namespace octavo::sim {
namespace {

enum Field : unsigned { kChat, kParent, kTimestamp, kInputLength, kOutputLength, kHashIds };

constexpr std::int64_t kNoParent = -1;

class BailianReader final : public TraceReader {
 public:
  BailianReader(LineReader&& lines, std::int64_t block_size)
      : TraceReader(lines.name(), TraceFormat::Bailian, block_size),
        lines_(std::move(lines)),
        scanner_(name()) {}

  std::int64_t line() const noexcept override { return lines_.line(); }

 private:
  bool read(TraceRequest& request) override {
    std::string_view line;
    if (!lines_.next(line)) {
      return false;
    }
    request.clear();
    SeenFields seen;
    std::int64_t chat = 0;
    std::int64_t parent = kNoParent;
    scanner_.start(line, lines_.line());
    for (std::string_view key; scanner_.next_key(key);) {
      if (key == "chat_id") {
        seen.add(scanner_, kChat, key);
        chat = read_signed(scanner_, "chat_id");
      } else if (key == "parent_chat_id") {
        seen.add(scanner_, kParent, key);
        parent = read_signed(scanner_, "parent_chat_id");
      } else if (!take(key, seen, request)) {
        scanner_.skip_value();
      }
    }
    seen.require(scanner_, kChat, "chat_id", "an integer");
    seen.require(scanner_, kParent, "parent_chat_id", "the chat above, or -1");
    seen.require(scanner_, kTimestamp, "timestamp", "seconds");
    seen.require(scanner_, kInputLength, "input_length", "a number of tokens");
    seen.require(scanner_, kOutputLength, "output_length", "a number of tokens");
    seen.require(scanner_, kHashIds, "hash_ids", "an array of integers");
    check_id_count(scanner_, "hash_ids", "input_length", request.block_ids.size(),
                   request.input_tokens, block_size());
    request.session = static_cast<std::uint64_t>(root_of(chat, parent));
    std::uint64_t prefix = kChainRoot;
    for (std::uint64_t& id : request.block_ids) {
      id = prefix = chain_id(prefix, id);
    }
    return true;
  }

  bool take(std::string_view key, SeenFields& seen, TraceRequest& request) {
    if (key == "timestamp") {
      seen.add(scanner_, kTimestamp, key);
      request.arrival_ns = read_time_ns(scanner_, "timestamp", kSecondDigits);
    } else if (key == "input_length") {
      seen.add(scanner_, kInputLength, key);
      request.input_tokens = read_count(scanner_, "input_length", 1);
    } else if (key == "output_length") {
      seen.add(scanner_, kOutputLength, key);
      request.output_tokens = read_count(scanner_, "output_length", 0);
    } else if (key == "hash_ids") {
      seen.add(scanner_, kHashIds, key);
      read_ids(scanner_, "hash_ids", request.block_ids);
    } else {
      return false;
    }
    return true;
  }

  // The first chat of the conversation. A parent that the file does not have begins it: published
  // files are cuts out of a longer time.
  std::int64_t root_of(std::int64_t chat, std::int64_t parent) {
    std::int64_t root = chat;
    if (parent != kNoParent && parent != chat) {
      const auto found = roots_.find(parent);
      root = found == roots_.end() ? parent : found->second;
    }
    roots_.insert_or_assign(chat, root);
    return root;
  }

  LineReader lines_;
  JsonScanner scanner_;
  // Never iterated, looked up by chat.
  std::unordered_map<std::int64_t, std::int64_t> roots_;
};

}  // namespace

std::unique_ptr<TraceReader> open_bailian(LineReader&& lines, std::int64_t block_size) {
  return std::make_unique<BailianReader>(std::move(lines), block_size);
}

}  // namespace octavo::sim
