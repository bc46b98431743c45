// Every trace HDQ is measured on, in memory: the recorded ones where they lie beside the tree, the
// three of traces/, and generated ones.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "octavo/sim/replay.h"
#include "octavo/sim/trace.h"
#include "octavo/sim/trace_generate.h"
#include <nlohmann/json.hpp>

namespace octavo::sim {

class MemoryTrace final : public TraceReader {
 public:
  MemoryTrace(std::string name, std::int64_t block_size, std::vector<TraceRequest> requests)
      : TraceReader(std::move(name), TraceFormat::Octavo, block_size),
        requests_(std::move(requests)) {}
  explicit MemoryTrace(TraceReader& reader)
      : TraceReader(reader.name(), reader.format(), reader.block_size()) {
    TraceRequest request;
    while (reader.next(request)) {
      requests_.push_back(request);
    }
  }

  void rewind() { next_ = 0; }
  const std::vector<TraceRequest>& requests() const { return requests_; }

  /// Whole blocks: those of the longest prompt, and distinct ones.
  std::pair<std::int64_t, std::int64_t> extent() const {
    std::int64_t longest = 1;
    std::set<std::uint64_t> distinct;
    for (const TraceRequest& request : requests_) {
      longest = std::max(longest, (request.input_tokens + block_size() - 1) / block_size());
      distinct.insert(request.block_ids.begin(), request.block_ids.end());
    }
    return {longest, static_cast<std::int64_t>(distinct.size())};
  }

 private:
  bool read(TraceRequest& request) override {
    if (next_ == requests_.size()) {
      return false;
    }
    request = requests_[next_++];
    return true;
  }
  std::vector<TraceRequest> requests_;
  std::size_t next_ = 0;
};

inline std::filesystem::path shared_traces() {
  return std::filesystem::path(OCTAVO_SOURCE_DIR) / "../shared/traces";
}

/// The sessions of the WEKA collection one after the other, by file name, sub-agents where they
/// stand; or all begun at once and merged by time. Ids are local to a file; whole blocks only, so a
/// prompt's tail gets an id of its own.
enum class Sessions { InTurn, Together };
inline MemoryTrace weka_sessions(Sessions order) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(shared_traces() / "weka-agentic")) {
    if (entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<TraceRequest> requests;
  std::map<std::uint64_t, std::uint64_t> names;  // Of one file.
  std::uint64_t fresh = 0;
  const auto add = [&](const nlohmann::json& entry, double begin_s) {
    TraceRequest request;
    request.arrival_ns = static_cast<std::int64_t>((begin_s + entry.at("t").get<double>()) * 1e9);
    request.input_tokens = entry.at("in").get<std::int64_t>();
    request.output_tokens = entry.at("out").get<std::int64_t>();
    for (const std::uint64_t id : entry.at("hash_ids").get<std::vector<std::uint64_t>>()) {
      const auto [name, added] = names.emplace(id, fresh);
      fresh += added ? 1 : 0;
      request.block_ids.push_back(name->second);
    }
    if (request.input_tokens % 64 != 0) {
      request.block_ids.push_back(fresh++);
    }
    if (request.input_tokens > 0) {
      requests.push_back(std::move(request));
    }
  };
  for (const std::filesystem::path& file : files) {
    names.clear();
    std::ifstream stream(file);
    const nlohmann::json session = nlohmann::json::parse(stream);
    for (const nlohmann::json& entry : session.at("requests")) {
      if (!entry.contains("requests")) {
        add(entry, 0);
        continue;
      }
      for (const nlohmann::json& nested : entry.at("requests")) {
        add(nested, entry.at("t").get<double>());
      }
    }
  }
  if (order == Sessions::InTurn) {
    return {"weka", 64, std::move(requests)};
  }
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
  return {"weka, together", 64, std::move(requests)};
}

inline MemoryTrace generated(WorkloadKind kind, std::uint64_t seed, std::int64_t requests) {
  WorkloadOptions options;
  options.kind = kind;
  options.seed = seed;
  options.requests = requests;
  return MemoryTrace(*make_workload(options));
}

/// Hit rates through the production block manager, whole blocks only, one request at a time.
inline std::vector<double> hit_rates(MemoryTrace& trace,
                                     EvictionPolicy policy,
                                     const std::vector<std::int64_t>& blocks) {
  ReplayOptions options;
  options.block_size = trace.block_size();
  options.blocks = blocks;
  options.full_blocks_only = true;
  options.policies = {policy};
  trace.rewind();
  std::vector<double> rates;
  for (const ReplayRun& run : replay(trace, options).runs) {
    rates.push_back(run.hit_rate());
  }
  return rates;
}

}  // namespace octavo::sim
