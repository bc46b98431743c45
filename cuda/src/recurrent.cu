// Picks the kernel and the shape of a recurrence: by the state's dtype, by whether the head's
// dimensions suit the tuned kernel, and by how many blocks there would be.

#include <algorithm>
#include <bit>

#include "kernels/gated_delta.cuh"
#include "kernels/selective_state.cuh"
#include "launch_limits.h"
#include "octavo/error.h"
#include "operations.h"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {
namespace {

constexpr std::int64_t kMaxStateKDim = 2048;
static_assert(kMaxStateKDim == kMaxParts * kPartRows);
constexpr std::int64_t kMinLanes = 4;
constexpr std::int64_t kMaxLanes = 32;
constexpr std::int64_t kNarrowLanes = 8;  // Narrower only where there are too many parts.
constexpr std::int64_t kMaxPreparedTokens = 16;
/// Below this many blocks a GPU is not full, and narrower tiles make more of them.
constexpr std::int64_t kEnoughBlocks = 512;
/// What every GPU gives a block without being asked.
constexpr std::int64_t kSharedFloats = 48 * 1024 / 4;

template <typename Arg>
using RecurrentKernel = void (*)(Arg, RecurrentShape);

/// Whether a thread can take four columns and whole parts.
template <typename Arg>
bool suits_tuned(const Arg& arg) {
  return arg.k_dim % kPartRows == 0 && arg.k_dim <= kMaxTunedParts * kPartRows &&
         arg.v_dim % 4 == 0 &&
         packs_align(arg.state.data, arg.state.dtype, {arg.state.slot_stride});
}

struct RecurrentLaunch {
  RecurrentShape recurrent;
  LaunchShape launch;
};

/// The shape for threads of `pack` columns. Shared holds the operands.
template <typename Shared, typename Arg>
RecurrentLaunch shape_of(const char* operation, const Arg& arg, std::int64_t pack) {
  const std::int64_t parts = ceil_div(arg.k_dim, kPartRows);
  const std::int64_t threads = pack == 4 ? 128 : 512;
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(parts)));
  const auto needed = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(ceil_div(arg.v_dim, pack))));
  std::int64_t lanes = std::min(threads / padded, needed);
  lanes = std::clamp(lanes, pack == 4 ? kNarrowLanes : kMinLanes, kMaxLanes);
  const std::int64_t heads = arg.step.batch * arg.heads;
  while (lanes > kNarrowLanes && heads * ceil_div(arg.v_dim, lanes * pack) < kEnoughBlocks) {
    lanes /= 2;
  }
  const std::int64_t tiles = ceil_div(arg.v_dim, lanes * pack);
  check_at_most(operation, "recurrent_state has a number of sequences times heads times tiles",
                heads * tiles, kMaxGridX);
  std::int64_t tokens = std::min(arg.step.max_query_len, kMaxPreparedTokens);
  while (Shared::size(tokens, parts, lanes * pack) > kSharedFloats) {
    --tokens;
  }
  RecurrentLaunch result;
  result.recurrent = {.tiles = static_cast<std::uint32_t>(tiles),
                      .heads = static_cast<std::uint32_t>(arg.heads),
                      .lanes = static_cast<std::uint32_t>(lanes),
                      .parts = static_cast<std::uint32_t>(parts),
                      .tokens = static_cast<std::uint32_t>(tokens)};
  result.launch.grid = dim3(static_cast<unsigned>(heads * tiles));
  result.launch.block = dim3(static_cast<unsigned>(ceil_div(lanes * parts, 32) * 32));
  result.launch.shared_bytes =
      static_cast<std::size_t>(Shared::size(tokens, parts, lanes * pack)) * sizeof(float);
  return result;
}
static_assert(DeltaShared::size(1, kMaxParts, kMinLanes) <= kSharedFloats);
static_assert(SelectiveShared::size(1, kMaxParts, kMinLanes) <= kSharedFloats);

template <typename Arg>
bool is_empty(const Arg& arg) {
  return arg.step.batch == 0 || arg.step.tokens == 0 || arg.heads == 0 || arg.v_dim == 0;
}

template <DType kState>
RecurrentKernel<GatedDeltaUpdateArg> delta_kernel(bool tuned) {
  return tuned ? &gated_delta_kernel<kState, 4> : &gated_delta_kernel<kState, 1>;
}

template <DType kState>
RecurrentKernel<SelectiveStateUpdateArg> selective_kernel(bool tuned) {
  return tuned ? &selective_state_kernel<kState, 4> : &selective_state_kernel<kState, 1>;
}

}  // namespace

void gated_delta_update(const GatedDeltaUpdateArg& arg, Stream stream) {
  check_at_most("gated_delta_update", "recurrent_state has a k_dim", arg.k_dim, kMaxStateKDim);
  if (is_empty(arg)) {
    return;
  }
  const bool tuned = suits_tuned(arg);
  const auto shape = shape_of<DeltaShared>("gated_delta_update", arg, tuned ? 4 : 1);
  const auto kernel = arg.state.dtype == DType::F32    ? delta_kernel<DType::F32>(tuned)
                      : arg.state.dtype == DType::F16 ? delta_kernel<DType::F16>(tuned)
                                                      : delta_kernel<DType::BF16>(tuned);
  launch(kernel, shape.launch, stream, arg, shape.recurrent);
}

void selective_state_update(const SelectiveStateUpdateArg& arg, Stream stream) {
  check_at_most("selective_state_update", "recurrent_state has a k_dim", arg.k_dim, kMaxStateKDim);
  if (is_empty(arg)) {
    return;
  }
  const bool tuned = suits_tuned(arg);
  const auto shape = shape_of<SelectiveShared>("selective_state_update", arg, tuned ? 4 : 1);
  const auto kernel = arg.state.dtype == DType::F32    ? selective_kernel<DType::F32>(tuned)
                      : arg.state.dtype == DType::F16 ? selective_kernel<DType::F16>(tuned)
                                                      : selective_kernel<DType::BF16>(tuned);
  launch(kernel, shape.launch, stream, arg, shape.recurrent);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
