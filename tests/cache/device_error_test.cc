// A device that fails at every one of its calls in turn: what is then so.
#include <cstring>
#include <functional>

#include "tests/cache/support/cache_testing.h"
#include "tests/cache/support/probe_device.h"

namespace octavo::testing {
namespace {

struct Scene {
  std::shared_ptr<ProbeDevice> device = std::make_shared<ProbeDevice>();
  KVCache cache;
  std::vector<Tensor> handles;  // All that the cache has handed out of its index tensors.

  explicit Scene(int state_rows = 0)
      : cache(make_cache(paged_config(1 + state_rows, device), specs(state_rows))) {
    cache_prompt(cache, 0, story(0, 6));
    cache_prompt(cache, 0, story(1, 6));
    step(cache, {1}, {7});
    const Indices indices = step(cache, {2}, {4});
    handles = {cache.seq_lens(),     cache.paged_block_table(), indices.cu_seqlens_q,
               indices.cu_seqlens_k, indices.kvcache_start,     indices.slot_ids};
  }

  // A device that failed has done no one knows what to what it was sent before.
  void spoil() {
    for (const Tensor& handle : handles) {
      if (handle.defined()) {
        std::memset(handle.address(), 0x55, static_cast<std::size_t>(handle.storage_bytes()));
      }
    }
  }

  static std::vector<KVLayerSpec> specs(int state_rows) {
    std::vector<KVLayerSpec> specs{{}};
    for (int i = 0; i < state_rows; ++i) {
      specs.push_back({.kind = KVLayerKind::State, .conv = {{4, 3}}, .recurrent = {1, 2, 2}});
    }
    return specs;
  }
};

// Runs `call` with the device failing at its n-th call for every n until it succeeds; `check` sees
// the scene after each failure.
int fail_everywhere(const std::function<void(KVCache&)>& call,
                    const std::function<void(Scene&, std::uint64_t before)>& check) {
  for (int n = 0; n < 100; ++n) {
    Scene scene(1);
    const std::uint64_t before = scene.cache.digest();
    scene.device->fail_after(n);
    try {
      call(scene.cache);
      return n;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DeviceError) << error.what();
    }
    scene.device->heal();
    scene.spoil();
    SCOPED_TRACE("failed at call " + std::to_string(n));
    EXPECT_NO_THROW(scene.cache.audit());
    check(scene, before);
  }
  ADD_FAILURE() << "it never succeeded";
  return 0;
}

// Asked without changing anything: no slot is admitted without a prompt.
bool is_failed(KVCache& cache, int slot) {
  try {
    cache.admit(slot, {});
  } catch (const Error& error) {
    return error.code() == ErrorCode::FailedPrecondition &&
           std::string_view(error.what()).find("abandon_batch") != std::string_view::npos;
  }
  return false;
}

TEST(DeviceErrors, BeforeTheHostMovesNothingHasChangedAndTheStepMayBeRepeated) {
  int unchanged = 0;
  int moved = 0;
  const int calls = fail_everywhere(
      [](KVCache& cache) {
        step(cache, {2, 3}, {1, 5});
      },
      [&](Scene& scene, std::uint64_t before) {
        KVCache& cache = scene.cache;
        if (!is_failed(cache, 2)) {
          ++unchanged;
          EXPECT_EQ(cache.digest(), before);
          EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 7, 4, 0}));
        } else {
          ++moved;
          EXPECT_TRUE(is_failed(cache, 3));
          EXPECT_REFUSED(cache, FailedPrecondition, step(cache, {3}, {1}), "slot 3",
                         "abandon_batch");
          EXPECT_REFUSED(cache, FailedPrecondition, cache.retire(2, ids(story(2, 5))), "slot 2");
          EXPECT_REFUSED(cache, FailedPrecondition, cache.reserve(ids({2}), Ids{1}), "slot 2");
          EXPECT_REFUSED(cache, FailedPrecondition, cache.admit(3, ids({1})), "slot 3");
          cache.abandon_batch(2);
          cache.evict_batch(3);
          EXPECT_EQ(cache.paged_quarantined_blocks(), 3) << "an evicted failed slot is abandoned";
          cache.release_quarantined();
          step(cache, {2}, {4});
        }
        EXPECT_FALSE(is_failed(cache, 1)) << "others are untouched";
        const Indices indices = step(cache, {2, 1, 3}, {1, 1, 5});
        EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 8, 5, 5})) << "everything was sent anew";
        EXPECT_EQ(host(indices.cu_seqlens_q), (Ids{0, 1, 2, 7}));
        EXPECT_EQ(host(indices.cu_seqlens_k), (Ids{0, 5, 13, 18}));
        for (const auto& [row, slot] : {std::pair{0, 2}, {1, 1}, {2, 3}}) {
          EXPECT_EQ(host(indices.kvcache_start.select(0, row)),
                    host(cache.paged_block_table().select(0, slot)));
        }
        EXPECT_EQ(host(cache.paged_block_table().select(0, 0)), Ids(8, -1));
        EXPECT_NO_THROW(cache.audit());
      });
  EXPECT_GT(unchanged, 2);
  EXPECT_GT(moved, 1);
  EXPECT_EQ(unchanged + moved, calls);
}

TEST(DeviceErrors, AStepWithoutNewBlocksIsAllOrNothing) {
  const int calls = fail_everywhere([](KVCache& cache) { step(cache, {1}, {1}); },
                                    [&](Scene& scene, std::uint64_t before) {
                                      if (!is_failed(scene.cache, 1)) {
                                        EXPECT_EQ(scene.cache.digest(), before);
                                      }
                                    });
  EXPECT_GT(calls, 2);
}

TEST(DeviceErrors, OfReserve) {
  fail_everywhere(
      [](KVCache& cache) {
        cache.reserve(ids({2, 3}), Ids{1, 5});
      },
      [&](Scene& scene, std::uint64_t before) {
        KVCache& cache = scene.cache;
        if (is_failed(cache, 3)) {
          cache.abandon_batch(2);
          cache.abandon_batch(3);
          EXPECT_EQ(cache.release_quarantined(), 3);
        } else {
          EXPECT_EQ(cache.digest(), before);
        }
        EXPECT_EQ(host(cache.reserve(ids({1, 3}), Ids{1, 1})), (Ids{7, 0}));
        EXPECT_EQ(host(cache.seq_lens())[3], 1);
      });
}

// The copy of a partial hit is lost: the slot is bound, but nothing may be made of it.
TEST(DeviceErrors, OfAdmitsCopy) {
  const auto device = std::make_shared<ProbeDevice>();
  KVCache cache = make_cache(paged_config(1, device));
  cache_prompt(cache, 0, story(0, 6));
  EXPECT_EQ(cache.admit(1, ids(story(0, 8))), 6);
  device->fail_once_after(0);
  EXPECT_THROW(cache.admit(2, ids(story(0, 8))), Error);
  EXPECT_TRUE(is_failed(cache, 2));
  EXPECT_REFUSED(cache, FailedPrecondition, step(cache, {2}, {2}), "slot 2");
  EXPECT_FALSE(is_failed(cache, 1));
  cache.abandon_batch(2);
  EXPECT_EQ(cache.admit(2, ids(story(0, 8))), 6);
  EXPECT_EQ(cache.counters().copied_blocks, 1) << "the lost one was never made";
}

TEST(DeviceErrors, OfAPromptThatCannotBeFetched) {
  const auto device = std::make_shared<ProbeDevice>(nullptr, false);
  KVCache cache = make_cache(paged_config(1, device));
  const Tensor prompt = ids(story(0, 8), device);
  device->fail_once_after(0);
  EXPECT_REFUSED(cache, DeviceError, cache.admit(0, prompt), "copy_to_host");
  EXPECT_EQ(cache.admit(0, prompt), 0);
}

TEST(DeviceErrors, OfAccessorsAreRepaired) {
  Scene scene;
  KVCache& cache = scene.cache;
  cache.update_position(2, 1);
  scene.device->fail_once_after(0);
  EXPECT_THROW(cache.seq_lens(), Error);
  scene.spoil();
  EXPECT_EQ(host(cache.seq_lens()), (Ids{0, 7, 1, 0}));
  cache.evict_batch(1);
  scene.device->fail_once_after(0);
  EXPECT_THROW(cache.paged_block_table(), Error);
  scene.spoil();
  EXPECT_EQ(host(cache.paged_block_table().select(0, 1)), Ids(8, -1));
  EXPECT_EQ(table_row(cache, 2).size(), 1U);
  EXPECT_NO_THROW(cache.audit());
}

}  // namespace
}  // namespace octavo::testing
