// Everything HDQ counts or links, recomputed from its records; and a hash of what decides.

#include <string>
#include <vector>

#include "blocks/chain_hash.h"
#include "blocks/hdq.h"
#include "octavo/error.h"

namespace octavo::blocks {

using hdq::kBuckets;
using hdq::kClasses;

namespace {

void require(bool holds, const char* what, std::int64_t value) {
  if (!holds) {
    throw Error(ErrorCode::Internal, std::string(what) + " (" + std::to_string(value) + ")");
  }
}

}  // namespace

// E-H3: records. Known blocks are counted right, found by their names, and closed upwards.
void Hdq::audit_known() const {
  std::vector<std::uint32_t> children(known_.used() + 1);
  std::int64_t count = 0;
  for (KnownId id = 1; id <= known_.used(); ++id) {
    const Known& known = known_[id];
    if (known.touches == 0) {
      continue;
    }
    ++count;
    require(known.nameless || known_.find(known.parent, known.fingerprint) == id,
            "E-H3: a known block is not found by its name", id);
    require(known.block == kNoBlock || known_.of_block(known.block) == id,
            "E-H3: a resident block is not known by its number", known.block);
    require(known.block != kNoBlock || known.group != 0, "E-H3: a ghost is in no group", id);
    if (known.parent == 0) {
      continue;
    }
    const Known& parent = known_[known.parent];
    require(parent.touches > 0, "E-H3: a known block continues a forgotten one", id);
    if (known.block != kNoBlock) {
      ++children[known.parent];
      require(parent.block != kNoBlock, "E-H3: a resident block continues a ghost", id);
    }
    require(known.group != 0 || parent.group == 0, "E-H3: a held block continues a parked one", id);
    require(known.group == 0 || parent.group == 0 || known.group == parent.group ||
                groups_[parent.group].time >= groups_[known.group].time,
            "E-H3: a block was let go after the one before it", id);
  }
  for (KnownId id = 1; id <= known_.used(); ++id) {
    require(known_[id].touches == 0 || known_[id].children == children[id],
            "E-H3: the resident blocks on a block are miscounted", id);
  }
  require(count == known_.count(), "E-H3: known blocks are miscounted", count);
  require(count <= known_.limit(), "E-H3: too many blocks are known", count);
  require(count + static_cast<std::int64_t>(known_.unused()) ==
              static_cast<std::int64_t>(known_.used()),
          "E-H3: records are lost", count);
}

// E-H4: one group. From its deepest member upwards: ghosts, then resident blocks.
void Hdq::audit_group(GroupId id) const {
  const Group& group = groups_[id];
  require(group.members > 0 && group.resident <= group.members && group.lru <= group.members,
          "E-H4: a group's counts are out of order", id);
  KnownId member = group.deepest;
  for (std::uint32_t i = 0; i < group.members; ++i) {
    const Known& known = known_[member];
    const std::uint32_t ghosts = group.members - group.resident;
    require(known.group == id, "E-H4: a member does not know its group", member);
    require((known.block == kNoBlock) == (i < ghosts), "E-H4: a group's ghosts are not its deepest",
            member);
    require(i != ghosts || member == group.deepest_resident,
            "E-H4: a group's deepest resident block is another", member);
    member = known.parent;
  }
  require(!group.passed || group.members == group.resident, "E-H4: a passed group remembers", id);
  require(!group.set_aside || known_[group.deepest_resident].children > 0,
          "E-H4: a group is set aside for nothing", id);
  const std::int64_t age = clock_ - group.time;
  require(age >= hdq::bucket_begin(group.bucket) &&
              (group.bucket + 1U == kBuckets || age < hdq::bucket_begin(group.bucket + 1U)),
          "E-H4: a group is in the wrong bucket", id);
}

// E-H5: lists. The order, the residents, the queues and the cursors into them.
void Hdq::audit_lists() const {
  std::int64_t members = 0;
  std::int64_t lru = 0;
  bool passed = true;
  bool lru_begun = false;
  GroupId resident = residents_.oldest();
  std::array<GroupId, kBuckets> oldest_in_bucket{};
  std::vector<std::int64_t> queued(kClasses * kBuckets);
  std::int64_t time = 0;
  for (GroupId id = order_.oldest(); id != 0; id = groups_[id].order.newer) {
    const Group& group = groups_[id];
    audit_group(id);
    require(group.time >= time, "E-H5: the order is not by time", id);
    time = group.time;
    members += group.members;
    lru += group.lru;
    passed = passed && id != memory_end_;
    require(group.passed == passed, "E-H5: passed groups are not the oldest", id);
    lru_begun = lru_begun || id == lru_end_;
    require(lru_begun || group.lru == 0, "E-H5: LRU holds blocks beyond its end", id);
    if (oldest_in_bucket[group.bucket] == 0) {
      oldest_in_bucket[group.bucket] = id;
    }
    if (group.resident > 0) {
      require(id == resident, "E-H5: the residents are in another order", id);
      resident = group.residents.newer;
      queued[group.class_id * kBuckets + group.bucket] += group.set_aside ? 0 : 1;
    }
  }
  require(resident == 0, "E-H5: a group without resident blocks is among the residents", resident);
  require(oldest_in_bucket == oldest_in_bucket_, "E-H5: a bucket begins elsewhere", clock_);
  require(lru == lru_blocks_, "E-H5: LRU's blocks are miscounted", lru_blocks_);
  std::int64_t in_groups = 0;
  for (KnownId id = 1; id <= known_.used(); ++id) {
    in_groups += known_[id].touches > 0 && known_[id].group != 0 ? 1 : 0;
  }
  require(in_groups == members, "E-H5: members are miscounted", members);

  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t b = 0; b < kBuckets; ++b) {
      const auto count = static_cast<std::int64_t>(queues_[c].count(b));
      GroupId id = queues_[c].oldest(b);
      for (std::int64_t left = count; left > 0; --left) {
        require(groups_[id].class_id == c && groups_[id].bucket == b && !groups_[id].set_aside,
                "E-H5: a group is in another's queue", id);
        id = groups_[id].queue.newer;
      }
      require(count == queued[c * kBuckets + b], "E-H5: a queue lacks groups", count);
      require(contest_.filled(c, b) == (count > 0), "E-H5: a queue is mistaken for empty or filled",
              count);
      require(count == 0 ||
                  density_.at(contest_.winner(), contest_.winner_bucket()) <= density_.at(c, b),
              "E-H5: another queue has a lower density", static_cast<std::int64_t>(c));
    }
  }
}

std::int64_t Hdq::parked_blocks() const noexcept {
  std::int64_t blocks = 0;
  for (GroupId id = residents_.oldest(); id != 0; id = groups_[id].residents.newer) {
    blocks += groups_[id].resident;
  }
  return blocks;
}

void Hdq::audit() const {
  audit_known();
  audit_lists();
}

std::uint64_t Hdq::digest() const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(clock_), static_cast<std::uint64_t>(hits_));
  const auto add = [&](std::uint64_t word) { hash = mix(hash, word); };
  const auto add_all = [&](auto... words) { (add(static_cast<std::uint64_t>(words)), ...); };
  for (GroupId id = order_.oldest(); id != 0; id = groups_[id].order.newer) {
    const Group& group = groups_[id];
    add_all(group.time, group.members, group.resident, group.lru, group.class_id, group.bucket,
            group.set_aside, group.passed, group.uncounted);
    KnownId member = group.deepest;
    for (std::uint32_t i = 0; i < group.members; ++i) {
      const Known& known = known_[member];
      add_all(known.fingerprint, known.block, known.touches, known.depth, known.children);
      member = known.parent;
    }
  }
  for (std::size_t c = 0; c < kClasses; ++c) {
    for (std::size_t b = 0; b < kBuckets; ++b) {
      add(counters_.hits(c, b));
      add(counters_.entered(c, b));
      GroupId id = queues_[c].oldest(b);
      for (std::uint32_t left = queues_[c].count(b); left > 0; --left) {
        add(known_[groups_[id].deepest_resident].fingerprint);
        id = groups_[id].queue.newer;
      }
    }
  }
  for (int slot = 0; slot < max_seqs_; ++slot) {
    const Session& session = sessions_[at(slot)];
    add_all(session.new_tokens, session.output_tokens, session.new_depth, session.output_noted);
  }
  add_all(counters_.sessions, counters_.session_blocks, unlearned_, unaccounted_, lru_hits_,
          guard_.digest());
  return hash;
}

}  // namespace octavo::blocks
