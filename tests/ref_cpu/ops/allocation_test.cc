// A decode step allocates nothing on the heap, in whatever codec, once its tensors exist.
#include <atomic>
#include <cstdlib>
#include <new>

#include "attend_world.h"
#include <gtest/gtest.h>

namespace {

std::atomic<long> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1);
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace octavo::ops_test {
namespace {

TEST(DecodeStep, AllocatesNothing) {
  for (const KVCodec codec : {KVCodec::None, KVCodec::Int8, KVCodec::E4M3}) {
    const Model model{.k_quant = {.codec = codec}, .v_quant = {.codec = codec}};
    World world(model, {.threads = 2}, 2, 600);
    world.fill({{0, 510}, {1, 3}});
    std::vector<GroupQueryAttentionArgs> steps;
    for (int i = 0; i < 5; ++i) {
      steps.push_back(world.make_args({{0, 1}, {1, 1}}, true));
      steps.back().out = Tensor::zeros(DType::F32, {2, model.q_heads(), 64}, world.device());
      world.fill({{0, 1}, {1, 1}});
    }
    group_query_attention_varlen(steps[0]);
    const long before = allocations.load();
    for (std::size_t i = 1; i < steps.size(); ++i) {
      group_query_attention_varlen(steps[i]);
    }
    EXPECT_EQ(allocations.load(), before) << to_string(codec);
    EXPECT_GT(before, 0);
  }
}

}  // namespace
}  // namespace octavo::ops_test
