// The small language that the tests of the cache are written in.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/error.h"
#include "octavo/kv_cache.h"
#include <gtest/gtest.h>

namespace octavo::testing {

using Ids = std::vector<std::int32_t>;
using Indices = KVCache::StepIndices;

/// A vector of ids on `device` (null: the host).
Tensor ids(const Ids& values, std::shared_ptr<Device> device = nullptr);
/// `count` ids of story `which`, from position `from` on; two stories share no id.
Ids story(int which, std::int64_t count, std::int64_t from = 0);
Ids join(Ids head, const Ids& tail);
/// What an Int32 tensor holds, of any rank.
Ids host(const Tensor& tensor);

/// One step: `counts[i]` more tokens of `slots[i]`, behind what is reserved.
Indices step(KVCache& cache, const Ids& slots, const Ids& counts);
/// The same with the past lengths given.
Indices step_at(KVCache& cache, const Ids& slots, const Ids& past, const Ids& counts);
/// Admits, takes one step over what is not served and commits it; returns what was served.
std::int64_t prefill(KVCache& cache, int slot, const Ids& prompt);
/// prefill and retire.
std::int64_t cache_prompt(KVCache& cache, int slot, const Ids& prompt);
/// The row of the device's block table, without trailing -1.
Ids table_row(const KVCache& cache, int slot);

/// `layers` paged rows of 2 heads of 8, 4 slots, 16 blocks of 4 tokens, at most 32 a sequence, F32.
KVCacheConfig paged_config(int layers = 1, std::shared_ptr<Device> device = nullptr);
/// The same sizes, continuous.
KVCacheConfig continuous_config(int layers = 1, std::shared_ptr<Device> device = nullptr);

KVCache make_cache(const KVCacheConfig& config, const std::vector<KVLayerSpec>& specs = {{}});

/// Runs `call`, which must raise `code` with a message that holds all of `words`, and leave the
/// cache as it was.
template <class Call>
void expect_error(const KVCache& cache,
                  ErrorCode code,
                  std::initializer_list<std::string_view> words,
                  Call&& call) {
  const std::uint64_t digest = cache.digest();
  const std::int64_t free_blocks = cache.paged_free_blocks();
  try {
    call();
    ADD_FAILURE() << "nothing was raised";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
    const std::string_view message = error.what();
    for (const std::string_view word : words) {
      EXPECT_NE(message.find(word), std::string_view::npos)
          << "\"" << message << "\" does not say " << word;
    }
  }
  EXPECT_EQ(cache.digest(), digest) << "a call that raised changed something";
  EXPECT_EQ(cache.paged_free_blocks(), free_blocks);
  EXPECT_NO_THROW(cache.audit());
}

}  // namespace octavo::testing

/// EXPECT_REFUSED(cache, InvalidArgument, cache.evict_batch(9), "evict_batch", "9"): the code, then
/// the call, then what the message must name.
#define EXPECT_REFUSED(cache, code, call, ...)                                       \
  do {                                                                               \
    SCOPED_TRACE(#call);                                                             \
    ::octavo::testing::expect_error(cache, ::octavo::ErrorCode::code, {__VA_ARGS__}, \
                                    [&] { (void)(call); });                          \
  } while (false)
