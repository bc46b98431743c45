#include "generate.h"

#include <limits>
#include <string>

#include "octavo/error.h"
#include "octavo/sim/trace_write.h"

namespace octavo::sim {
namespace {

constexpr std::int64_t kRequestsMax = 1'000'000'000;
constexpr std::int64_t kBlockMax = 65536;
constexpr std::int64_t kPoolMin = 8;
constexpr std::int64_t kPoolMax = 65536;

constexpr std::pair<WorkloadKind, std::string_view> kNames[] = {
    {WorkloadKind::Chat, "chat"},
    {WorkloadKind::Agent, "agent"},
    {WorkloadKind::Adversarial, "adversarial"},
    {WorkloadKind::Synthetic, "synthetic"},
    {WorkloadKind::Sessions, "sessions"},
    {WorkloadKind::Tools, "tools"},
    {WorkloadKind::Media, "media"},
    {WorkloadKind::Mix, "mix"},
};

void check(const char* argument, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value < min || value > max) {
    throw Error(ErrorCode::InvalidArgument,
                std::string("make_workload: ") + argument + " " + std::to_string(value) +
                    " is outside [" + std::to_string(min) + ", " + std::to_string(max) + "]");
  }
}

std::unique_ptr<Generator> make_generator(const WorkloadOptions& options) {
  const std::int64_t block_size = workload_block_size(options);
  switch (options.kind) {
    case WorkloadKind::Chat:
      return make_chat(options.seed, block_size);
    case WorkloadKind::Agent:
      return make_agent(options.seed, block_size);
    case WorkloadKind::Adversarial:
      return make_adversarial(options.seed, block_size, options.pool_blocks);
    case WorkloadKind::Synthetic:
    case WorkloadKind::Sessions:
    case WorkloadKind::Tools:
    case WorkloadKind::Media:
    case WorkloadKind::Mix:
      break;
  }
  return make_sessions(options.seed, block_size, options.sessions);
}

class WorkloadReader final : public TraceReader {
 public:
  explicit WorkloadReader(const WorkloadOptions& options)
      : TraceReader("<" + std::string(to_string(options.kind)) + ", seed " +
                        std::to_string(options.seed) + ">",
                    TraceFormat::Octavo,
                    workload_block_size(options)),
        generator_(make_generator(options)),
        left_(options.requests) {}

 private:
  bool read(TraceRequest& request) override {
    if (left_ == 0) {
      return false;
    }
    --left_;
    request.delay_ns.reset();
    generator_->next(request);
    return true;
  }

  std::unique_ptr<Generator> generator_;
  std::int64_t left_;
};

}  // namespace

std::string_view to_string(WorkloadKind kind) noexcept {
  for (const auto& [named, name] : kNames) {
    if (kind == named) {
      return name;
    }
  }
  return "unknown";
}

WorkloadKind parse_workload_kind(std::string_view name) {
  std::string all;
  for (const auto& [kind, known] : kNames) {
    if (name == known) {
      return kind;
    }
    all += all.empty() ? "" : ", ";
    all += known;
  }
  throw Error(ErrorCode::InvalidArgument,
              "parse_workload_kind: \"" + std::string(name) + "\" is none of " + all);
}

std::int64_t workload_block_size(const WorkloadOptions& options) noexcept {
  if (options.block_size != 0) {
    return options.block_size;
  }
  switch (options.kind) {
    case WorkloadKind::Chat:
      return 64;
    case WorkloadKind::Agent:
      return 512;
    default:
      return 16;
  }
}

std::unique_ptr<TraceReader> make_workload(const WorkloadOptions& options) {
  check("requests", options.requests, 1, kRequestsMax);
  check("block_size", options.block_size, 0, kBlockMax);
  check("pool_blocks", options.pool_blocks, kPoolMin, kPoolMax);
  if (is_of_sessions(options.kind)) {
    check(options.sessions);
  }
  return std::make_unique<WorkloadReader>(options);
}

void write_workload(const WorkloadOptions& options, std::ostream& out) {
  const std::unique_ptr<TraceReader> workload = make_workload(options);
  TraceHeader header{.block_size = workload->block_size(),
                     .notes = {{"workload", "\"" + std::string(to_string(options.kind)) + "\""},
                               {"seed", std::to_string(options.seed)},
                               {"requests", std::to_string(options.requests)}}};
  if (options.kind == WorkloadKind::Adversarial) {
    header.notes.emplace_back("pool_blocks", std::to_string(options.pool_blocks));
  }
  if (is_of_sessions(options.kind)) {
    const auto notes = notes_of(options.sessions);
    header.notes.insert(header.notes.end(), notes.begin(), notes.end());
  }
  TraceWriter writer(out, header);
  for (TraceRequest request; workload->next(request);) {
    writer.write(request);
  }
}

}  // namespace octavo::sim
