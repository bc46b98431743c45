// CudaDevice when a call of the runtime fails: every one in turn.
#include <algorithm>
#include <array>
#include <string_view>

#include "octavo/device_ops.h"

#include "tests/cuda/attend_case.h"
#include "tests/cuda/simulated_gpu/device/device_testing.h"

namespace octavo::simulated_gpu {
namespace {

// What may fail without anybody being able to do anything about it.
constexpr std::array<std::string_view, 9> kSilent = {
    "cudaFree",         "cudaFreeAsync",        "cudaFreeHost",
    "cudaEventDestroy", "cudaEventSynchronize", "cudaDeviceSynchronize",
    "cudaGetDevice",    "cudaSetDevice",        "cudaStreamIsCapturing"};
constexpr std::array<std::string_view, 4> kFreeing = {"cudaFree", "cudaFreeAsync", "cudaFreeHost",
                                                      "cudaEventDestroy"};

constexpr std::array<std::string_view, 2> kSwitching = {"cudaGetDevice", "cudaSetDevice"};

template <class Names>
bool is_one_of(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

struct Failing {
  cudaError_t error;
  ErrorCode code;
};
constexpr Failing kFailures[] = {{cudaErrorMemoryAllocation, ErrorCode::ResourceExhausted},
                                 {cudaErrorLaunchFailure, ErrorCode::DeviceError},
                                 {cudaErrorInvalidValue, ErrorCode::DeviceError}};

// Runs `scenario`, whose calls number from `fail` on. True when it came to the failing call.
template <class Scenario>
bool fails_as_it_should(const Failing& failing, const Scenario& scenario) {
  bool raised = false;
  try {
    scenario();
  } catch (const Error& error) {
    raised = true;
    EXPECT_EQ(to_string(error.code()), to_string(failing.code)) << error.what();
  }
  stop_failing();
  const std::string failed = failed_function();
  EXPECT_TRUE(raised || failed.empty() || is_one_of(kSilent, failed)) << failed;
  EXPECT_EQ(last_fault(), "") << failed;
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << failed << ": the next launch would report it";
  static_cast<void>(cudaGetLastError());
  return !failed.empty();
}

void use(Device& device, const std::shared_ptr<Device>& owner) {
  const ScopedBytes first(owner, 3000);
  const ScopedBytes second(owner, 3000);
  const Bytes bytes = some_bytes(3000);
  upload(device, first.data(), bytes);
  device.copy(second.data(), first.data(), 3000);
  device.fill(first.data(), 4, 1000);
  const SlotArrayArg array{first.data(), 100, 100};
  const std::int32_t slot = 1;
  device.zero_slots({&array, 1, &slot, 1});
  EXPECT_EQ(download(device, second.data(), 3000), bytes);
  EXPECT_EQ(download(device, first.data(), 1000), Bytes(1000, 4));
}

class Attention {
 public:
  Attention() {
    case_.lengths = {300};
    case_.partials = false;
    data_ = make_data(case_);
  }
  void run(Device& device) const { run_case(case_, data_, device); }

 private:
  cuda_test::AttendCase case_;
  cuda_test::CaseData data_;
};

constexpr int kCallsMax = 500;

TEST(DeviceFailure, OfConstruction) {
  for (const WorkTime time : {WorkTime::Eager, WorkTime::Lazy, WorkTime::Random}) {
    for (const Failing& failing : kFailures) {
      int nth = 1;
      for (bool failed = true; failed; ++nth) {
        ASSERT_LT(nth, kCallsMax);
        SCOPED_TRACE("call " + std::to_string(nth));
        reset({.num_gpus = 2, .time = time});
        fail_call(nth, failing.error);
        failed = fails_as_it_should(failing, [] {
          make_cuda_device(
              {.ordinal = 1, .workspace_bytes = 5000, .staging_bytes = kSmallStagingBytes});
        });
        EXPECT_TRUE(live() == Live{} || is_one_of(kFreeing, failed_function()))
            << failed_function() << ": something was left behind";
        int current = -1;
        EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
        EXPECT_TRUE(current == 0 || is_one_of(kSwitching, failed_function()));
      }
      EXPECT_GT(nth, 15);
    }
  }
}

TEST(DeviceFailure, OfUseIsOverWithTheCall) {
  for (const WorkTime time : {WorkTime::Eager, WorkTime::Lazy, WorkTime::Random}) {
    for (const Failing& failing : kFailures) {
      int nth = 1;
      for (bool failed = true; failed; ++nth) {
        ASSERT_LT(nth, kCallsMax);
        SCOPED_TRACE("call " + std::to_string(nth));
        reset({.time = time, .kernels = make_idle_kernels()});
        const auto device = make_small_device();
        const Live before = live();
        fail_call(nth, failing.error);
        failed = fails_as_it_should(failing, [&] { use(*device, device); });
        EXPECT_NO_THROW(use(*device, device)) << failed_function() << ": is not over";
        EXPECT_TRUE(live() == before || is_one_of(kFreeing, failed_function()))
            << failed_function() << ": something was left behind";
        EXPECT_EQ(last_fault(), "");
      }
      EXPECT_GT(nth, 20);
    }
  }
}

TEST(DeviceFailure, OfAttentionIsOverWithTheCall) {
  const Attention attention;
  for (const Failing& failing : kFailures) {
    int nth = 1;
    for (bool failed = true; failed; ++nth) {
      ASSERT_LT(nth, kCallsMax);
      SCOPED_TRACE("call " + std::to_string(nth));
      reset({.kernels = make_idle_kernels()});
      const auto device = make_cuda_device({.staging_bytes = 512 << 10});
      fail_call(nth, failing.error);
      failed = fails_as_it_should(failing, [&] { attention.run(*device); });
      EXPECT_NO_THROW(attention.run(*device)) << failed_function() << ": is not over";
      EXPECT_NO_THROW(attention.run(*device)) << failed_function() << ": is not over";
      EXPECT_EQ(last_fault(), "");
    }
    EXPECT_GT(nth, 20);
  }
}

// Whatever a ring's upload had come to when it failed, later ones arrive whole.
TEST(DeviceFailure, OfAnUploadDoesNotReachLaterOnes) {
  const RuntimeOptions times[] = {{.time = WorkTime::Lazy}, {.seed = 1}, {.seed = 2}};
  for (const RuntimeOptions& options : times) {
    for (int nth = 1; nth < 250; ++nth) {  // Twice round the ring.
      SCOPED_TRACE(to_text(options) + ", call " + std::to_string(nth));
      reset(options);
      const auto device = make_small_device();
      const ScopedBytes bytes(device, 20000);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      const cudaStream_t streams[] = {make_stream(), make_stream()};
      bool is_sent[40] = {};
      // One stream leaves more in a segment than the other.
      const auto sizes = [](unsigned i) {
        return i % 3 == 0 ? 480 : std::size_t{10} + i * 57 % 100;
      };
      fail_call(nth, cudaErrorInvalidValue);
      for (unsigned i = 0; i < 40; ++i) {
        const CudaStreamGuard guard(streams[i % 3 == 0 ? 0 : 1]);
        try {
          upload(*device, bytes.data() + 500 * i, some_bytes(sizes(i), i));
          is_sent[i] = true;
        } catch (const Error&) {
        }
      }
      stop_failing();
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      for (unsigned i = 0; i < 40; ++i) {
        const std::size_t size = sizes(i);
        if (is_sent[i]) {
          EXPECT_EQ(download(*device, bytes.data() + 500 * i, static_cast<std::int64_t>(size)),
                    some_bytes(size, i))
              << i;
        }
      }
    }
  }
}

TEST(DeviceFailure, OfTheGpuIsDeviceErrorFromThenOn) {
  const Attention attention;
  int nth = 1;
  for (bool lost = true; lost; ++nth) {
    ASSERT_LT(nth, kCallsMax);
    SCOPED_TRACE("call " + std::to_string(nth));
    reset({.kernels = make_idle_kernels()});
    lose_gpu_at_call(nth, cudaErrorIllegalAddress);
    try {
      auto device = make_small_device();
      try {
        use(*device, device);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::DeviceError);
      }
      if (!last_fault().empty()) {
        EXPECT_EQ(code_of([&] { use(*device, device); }), ErrorCode::DeviceError);
        EXPECT_EQ(code_of([&] { attention.run(*device); }), ErrorCode::DeviceError);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::DeviceError);
    }
    lost = !failed_function().empty();
  }
  EXPECT_GT(nth, 40);
}

TEST(DeviceFailure, AFaultOfAKernelIsReportedLate) {
  const auto kernels = make_idle_kernels();
  reset({.time = WorkTime::Lazy, .kernels = kernels});
  const auto device = make_small_device();
  const ScopedBytes bytes(device, 100);
  kernels->fault_after(0);
  const SlotArrayArg array{bytes.data(), 10, 10};
  const std::int32_t slot = 1;
  EXPECT_NO_THROW(device->zero_slots({&array, 1, &slot, 1}));
  EXPECT_EQ(code_of([&] { download(*device, bytes.data(), 100); }), ErrorCode::DeviceError);
  EXPECT_EQ(code_of([&] { device->fill(bytes.data(), 0, 1); }), ErrorCode::DeviceError);
}

}  // namespace
}  // namespace octavo::simulated_gpu
