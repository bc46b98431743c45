// `octavo trace events LOG`: the figures of an engine's KV-event log.

#include <memory>
#include <string>

#include "cmd_trace.h"
#include "octavo/sim/kv_event_stats.h"
#include "table.h"
#include <nlohmann/json.hpp>

namespace octavo::tools {
namespace {

using sim::KvEventStats;
using Json = nlohmann::ordered_json;

template <typename Key>
std::string key_text(const Key& key) {
  if constexpr (std::is_same_v<Key, std::string>) {
    return key.empty() ? "unspecified" : key;
  } else {
    return key < 0 ? "unspecified" : std::to_string(key);
  }
}

template <typename Key>
Json to_json(const std::map<Key, std::int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [key, count] : counts) {
    json[key_text(key)] = count;
  }
  return json;
}

template <typename Key>
std::string to_text(const std::map<Key, std::int64_t>& counts) {
  std::string text;
  for (const auto& [key, count] : counts) {
    text += text.empty() ? "" : ", ";
    text += key_text(key) + ": " + grouped(count);
  }
  return text;
}

void print_json(const KvEventStats& stats, std::ostream& out) {
  const Json json = {{"schema_version", 1},
                     {"log", stats.name},
                     {"framing", sim::to_string(stats.framing)},
                     {"batches", stats.batches},
                     {"first_time_s", stats.first_time_s},
                     {"last_time_s", stats.last_time_s},
                     {"stored_events", stats.stored_events},
                     {"removed_events", stats.removed_events},
                     {"cleared_events", stats.cleared_events},
                     {"stored_blocks", stats.stored_blocks},
                     {"removed_blocks", stats.removed_blocks},
                     {"cached_blocks", stats.cached_blocks},
                     {"cached_blocks_max", stats.cached_blocks_max},
                     {"stored_twice", stats.stored_twice},
                     {"removed_unknown", stats.removed_unknown},
                     {"unknown_parents", stats.unknown_parents},
                     {"without_tokens", stats.without_tokens},
                     {"sequence_gaps", stats.sequence_gaps},
                     {"missing_batches", stats.missing_batches},
                     {"ranks", to_json(stats.ranks)},
                     {"media", to_json(stats.media)},
                     {"groups", to_json(stats.groups)},
                     {"block_sizes", to_json(stats.block_sizes)}};
  out << json.dump() << '\n';
}

void print_table(const KvEventStats& stats, std::ostream& out) {
  using Align = Table::Align;
  out << stats.name << ": KV events, framing " << sim::to_string(stats.framing) << "\n\n";
  Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
  table.add_row({"batches", grouped(stats.batches), "of ranks " + to_text(stats.ranks)});
  table.add_row({"duration", fixed(stats.last_time_s - stats.first_time_s, 3), "s"});
  table.add_row(
      {"BlockStored", grouped(stats.stored_events),
       grouped(stats.stored_blocks) + " blocks; by tokens a block " + to_text(stats.block_sizes)});
  table.add_row(
      {"BlockRemoved", grouped(stats.removed_events), grouped(stats.removed_blocks) + " blocks"});
  table.add_row({"AllBlocksCleared", grouped(stats.cleared_events)});
  table.add_gap();
  table.add_row({"media", "", to_text(stats.media)});
  table.add_row({"groups", "", to_text(stats.groups)});
  table.add_row({"cached at most", grouped(stats.cached_blocks_max), "blocks"});
  table.add_row({"cached at the end", grouped(stats.cached_blocks), "blocks"});
  table.add_gap();
  table.add_row({"sequence gaps", grouped(stats.sequence_gaps),
                 grouped(stats.missing_batches) + " batches are missing"});
  table.add_row({"stored twice", grouped(stats.stored_twice), "blocks"});
  table.add_row({"removed, not cached", grouped(stats.removed_unknown), "blocks"});
  table.add_row({"unknown parents", grouped(stats.unknown_parents), "events"});
  table.add_row({"without tokens", grouped(stats.without_tokens), "events"});
  out << table;
}

}  // namespace

void register_trace_events(CLI::App& trace, Context& context) {
  auto log = std::make_shared<std::string>();
  CLI::App* command =
      trace.add_subcommand("events", "the figures of a KV-event log of vLLM or SGLang");
  command->footer(
      "Example:\n"
      "  octavo trace events kv_events.msgpack");
  command->add_option("LOG", *log, "the log; - reads standard input")->required();
  command->callback([log, &context] {
    context.run = [log, &context]() -> int {
      sim::KvEventReader reader(*log);
      const KvEventStats stats = sim::compute_event_stats(reader);
      context.json ? print_json(stats, context.out) : print_table(stats, context.out);
      return kExitOk;
    };
  });
}

}  // namespace octavo::tools
