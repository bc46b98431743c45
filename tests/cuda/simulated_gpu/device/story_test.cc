// A server in miniature on a simulated GPU: KVCache, CudaDevice, the kernels as nvcc made them, and
// a GPU that comes to its work when it likes. What every token sees has the bits of a computation
// from its whole history on the host.
#include <string>

#include "tests/cache/support/story_server.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"
#include "tests/cuda/simulated_gpu/device/graph_device.h"
#include "tests/cuda/simulated_gpu/device/machine_runner.h"

namespace octavo::simulated_gpu {
namespace {

using testing::all_stacks;
using testing::Stack;
using testing::story;
using testing::StoryServer;

// Prompts in pieces, batches, a rewind, a cached prefix, an eviction, an abandoned session.
void serve(const Stack& stack, const std::shared_ptr<Device>& device) {
  StoryServer server(stack, device);
  if (stack.has_kind(KVLayerKind::CrossAttentionKV)) {
    server.fill(1, 2);
  }
  server.admit(1, story(0, 7));
  server.run_prompt(1, 3);
  server.run({{2, {1, 2, 3}}, {1, {5}}});
  server.run({{0, {3}}, {1, {4}}, {2, {4}}});
  if (!stack.has_kind(KVLayerKind::State)) {
    server.rewind(1, 8);
    server.run({{1, {9, 9}}});
  }
  server.retire(1);
  server.evict(2);
  server.admit(2, story(0, 7));
  server.run_prompt(2, 4);
  server.run({{2, {6}}, {0, {7}}});
  server.abandon(0);
  server.release_quarantined();
  server.run({{2, {8}}, {0, {1, 2}}});
  EXPECT_GT(server.compared(), 20);
}

class SimulatedStory : public ::testing::TestWithParam<int> {
 protected:
  static Stack stack() { return all_stacks()[static_cast<std::size_t>(GetParam())]; }
};

TEST_P(SimulatedStory, TokensSeeTheirHistory) {
  const RuntimeOptions times[] = {{.capability = 90, .time = WorkTime::Lazy},
                                  {.capability = 80, .time = WorkTime::Random, .seed = 3},
                                  {.capability = 90, .time = WorkTime::Random, .seed = 4}};
  for (RuntimeOptions options : times) {
    SCOPED_TRACE(stack().name + std::string(", ") + to_text(options));
    options.kernels = built_kernels(options.capability);
    reset(options);
    serve(stack(), make_small_device());
    EXPECT_EQ(live(), Live{});
    EXPECT_EQ(last_fault(), "");
  }
}

TEST_P(SimulatedStory, EveryOperationMayBeAGraph) {
  reset({.kernels = built_kernels(90)});
  const auto device =
      make_cuda_device({.workspace_bytes = 1 << 20, .staging_bytes = kSmallStagingBytes});
  const cudaStream_t stream = make_stream();
  serve(stack(), std::make_shared<GraphDevice>(device, stream));
  EXPECT_EQ(last_fault(), "");
}

INSTANTIATE_TEST_SUITE_P(Stacks,
                         SimulatedStory,
                         ::testing::Range(0, static_cast<int>(all_stacks().size())));

}  // namespace
}  // namespace octavo::simulated_gpu
