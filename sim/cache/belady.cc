#include "octavo/sim/belady.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "prompt_blocks.h"
#include "study_input.h"

namespace octavo::sim {
namespace {

constexpr std::uint32_t kNever = 0xFFFFFFFFU;

struct Request {
  std::size_t end = 0;  // Of its pieces; they begin where those of the request before end.
  std::int64_t input_tokens = 0;
  std::uint32_t needed = 0;  // Blocks, the partial one included.
  bool partial_tail = false;

  std::int64_t whole_blocks() const { return needed - (partial_tail ? 1 : 0); }
};

// Blocks of a request that have the same next use.
struct Use {
  std::uint32_t request = 0;
  std::uint32_t blocks = 0;
};

// What a pool is run over: for each accepted request, its blocks by next use, nearest first. Blocks
// without one are left out: no optimal pool keeps them.
struct Plan {
  std::vector<Use> uses;
  std::vector<std::size_t> begins;  // By request; one more for the end.
};

}  // namespace

struct Belady::Data {
  std::int64_t block_size = 0;
  std::int64_t longest = 0;
  std::int64_t distinct = 0;
  std::uint32_t pieces_end = 0;  // All pieces are below it.
  std::vector<Request> requests;
  std::vector<PathPiece> pieces;
  Plan full_plan;  // Of all requests.

  bool accepts(std::int64_t blocks, std::size_t request) const {
    return requests[request].needed <= blocks;
  }
  Plan make_plan(std::int64_t blocks) const;
};

// From the last request to the first: the next use of a piece is the request seen last that had it.
// The last block of a prompt of whole blocks is computed anew whether it was kept or not, so that
// request is no use of it, and what was kept of it before is for nothing.
Plan Belady::Data::make_plan(std::int64_t blocks) const {
  Plan plan;
  plan.begins.assign(requests.size() + 1, 0);
  std::vector<std::uint32_t> next(pieces_end, kNever);
  std::vector<Use> uses;  // Of one request, nearest first.
  for (std::size_t i = requests.size(); i-- > 0;) {
    const Request& request = requests[i];
    plan.begins[i + 1] = plan.uses.size();
    if (!accepts(blocks, i)) {
      continue;
    }
    uses.clear();
    const std::size_t begin = i == 0 ? 0 : requests[i - 1].end;
    for (std::size_t at = begin; at < request.end; ++at) {
      const PathPiece& piece = pieces[at];
      const std::uint32_t user = next[piece.piece];
      next[piece.piece] = static_cast<std::uint32_t>(i);
      if (user == kNever) {
        continue;
      }
      const bool computed_anew =
          !requests[user].partial_tail && pieces[requests[user].end - 1].piece == piece.piece;
      const std::uint32_t used = piece.blocks - (computed_anew ? 1 : 0);
      if (used == 0) {
        continue;
      }
      if (uses.empty() || uses.back().request != user) {
        uses.push_back({user, 0});
      }
      uses.back().blocks += used;
    }
    plan.uses.insert(plan.uses.end(), uses.rbegin(), uses.rend());
  }
  // Written from the end: turn it round.
  std::reverse(plan.uses.begin(), plan.uses.end());
  plan.begins[0] = plan.uses.size();
  for (std::size_t& begin : plan.begins) {
    begin = plan.uses.size() - begin;
  }
  return plan;
}

Belady::Belady(TraceReader& trace, std::int64_t block_size, std::int64_t limit) {
  check_range("belady", "block_size", block_size, 1, 65536);
  check_range("belady", "limit", limit, 0, std::numeric_limits<std::int64_t>::max());
  require_prefix_ids(trace);
  auto data = std::make_unique<Data>();
  data->block_size = block_size;
  PromptBlocks blocks(trace.block_size(), block_size);
  std::vector<PathPiece> parts;
  TraceRequest request;
  while (next_request(trace, limit, static_cast<std::int64_t>(data->requests.size()), request)) {
    const auto path = blocks.walk(request);
    parts.insert(parts.end(), path.begin(), path.end());
    const std::int64_t needed = blocks.blocks_of(request.input_tokens);
    data->longest = std::max(data->longest, needed);
    data->requests.push_back({parts.size(), request.input_tokens,
                              static_cast<std::uint32_t>(needed),
                              request.input_tokens % block_size != 0});
  }
  // Pieces may have been cut after they were written down.
  std::size_t at = 0;
  for (Request& each : data->requests) {
    for (; at < each.end; ++at) {
      blocks.append_pieces(parts[at], data->pieces);
    }
    each.end = data->pieces.size();
  }
  data->pieces_end = blocks.size();
  std::vector<bool> seen(data->pieces_end, false);
  for (const PathPiece& piece : data->pieces) {
    if (!seen[piece.piece]) {
      seen[piece.piece] = true;
      data->distinct += piece.blocks;
    }
  }
  data->full_plan = data->make_plan(data->longest);
  data_ = std::move(data);
}

Belady::~Belady() = default;
Belady::Belady(Belady&&) noexcept = default;
Belady& Belady::operator=(Belady&&) noexcept = default;

std::int64_t Belady::longest_blocks() const {
  return data_->longest;
}

std::int64_t Belady::distinct_blocks() const {
  return data_->distinct;
}

// All kept blocks of a request's prompt have this request as their next use when it comes, since
// any other request in between that had one of them would have had it as a next use. And they are
// its head: those with the same next use are given up from the deepest. So it is enough to count
// the kept blocks by next use; no block is ever looked at.
BeladyRun Belady::run(std::int64_t blocks, BeladyBound bound) const {
  check_range("belady", "blocks", blocks, 1, std::numeric_limits<std::int32_t>::max());
  const Data& data = *data_;
  const Plan small = blocks < data.longest ? data.make_plan(blocks) : Plan{};
  const Plan& plan = blocks < data.longest ? small : data.full_plan;
  std::vector<std::uint32_t> kept_for(data.requests.size(), 0);
  std::priority_queue<std::uint32_t> users;  // Those with kept blocks, and some that came by.
  std::int64_t kept = 0;
  const auto give_up = [&](std::int64_t most) {
    while (kept > most) {
      std::uint32_t& farthest = kept_for[users.top()];
      const std::int64_t dropped = std::min<std::int64_t>(farthest, kept - most);
      farthest -= static_cast<std::uint32_t>(dropped);
      kept -= dropped;
      if (farthest == 0) {
        users.pop();
      }
    }
  };

  BeladyRun run;
  run.blocks = blocks;
  std::int64_t hits = 0;
  for (std::size_t i = 0; i < data.requests.size(); ++i) {
    const Request& request = data.requests[i];
    if (!data.accepts(blocks, i)) {
      ++run.rejected_requests;
      continue;
    }
    ++run.requests;
    run.prompt_tokens += request.input_tokens;
    hits += kept_for[i];
    kept -= kept_for[i];
    kept_for[i] = 0;
    if (bound == BeladyBound::Pinned) {
      give_up(blocks - request.whole_blocks());
    }
    for (std::size_t use = plan.begins[i]; use < plan.begins[i + 1]; ++use) {
      const Use& next = plan.uses[use];
      if (kept_for[next.request] == 0) {
        users.push(next.request);
      }
      kept_for[next.request] += next.blocks;
      kept += next.blocks;
    }
    give_up(blocks);
  }
  run.hit_tokens = hits * data.block_size;
  return run;
}

}  // namespace octavo::sim
