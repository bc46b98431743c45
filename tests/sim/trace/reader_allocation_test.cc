// Reading allocates nothing once the request is warm, however long the file is. A program of its
// own, since it counts what operator new is asked for.

#include <atomic>
#include <cstdlib>
#include <new>

#include "trace_testing.h"

namespace {

std::atomic<std::int64_t> allocations{0};

}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace octavo::sim {
namespace {

// Reads the first request, then all others; returns the allocations of the latter.
std::int64_t warm_allocations(const std::string& content, int requests) {
  const TempFile file(content);
  const auto reader = open_trace(file.path());
  TraceRequest request;
  EXPECT_TRUE(reader->next(request));
  const std::int64_t before = allocations.load();
  int count = 1;
  while (reader->next(request)) {
    ++count;
  }
  const std::int64_t after = allocations.load();
  EXPECT_EQ(count, requests);
  return after - before;
}

TEST(TraceReaderAllocation, MooncakeAllocatesNothingOnceWarm) {
  std::string content;
  for (int i = 0; i < 20'000; ++i) {  // More than the buffer holds at once.
    content +=
        R"({"timestamp": 12.5e1, "input_length": 1500, "output_length": 3, "x": ["y", {"z": 1}], )"
        R"("hash_ids": [18446744073709551615, 12345678901234567890, 7]})"
        "\n";
  }
  EXPECT_EQ(warm_allocations(content, 20'000), 0);
}

TEST(TraceReaderAllocation, OctavoAllocatesNothingOnceWarm) {
  std::string content = "{\"octavo_trace\":1,\"block_size\":16}\n";
  for (int i = 0; i < 20'000; ++i) {
    content += R"({"time_ns":123456789012,"input_tokens":40,"output_tokens":3,"session":4,)"
               R"("block_ids":[18446744073709551615,8,7]})"
               "\n";
  }
  EXPECT_EQ(warm_allocations(content, 20'000), 0);
}

}  // namespace
}  // namespace octavo::sim
