// The operations of a device (cuda/src/operations.h) over a few of the kernels, one or two of a
// family: a sanitizer takes many times as long to compile them all. Takes what every_kernel_test.cc
// asks for; whatever else raises Unimplemented. The choice of attention's kernels and launches and
// the byte movers are the real ones (attend.cu, copies.cu).
#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "kernels/append.cuh"
#include "kernels/attend_fast.cuh"
#include "kernels/attend_fast_wide.cuh"
#include "kernels/attend_float.cuh"
#include "kernels/attend_general.cuh"
#include "kernels/attend_int.cuh"
#include "kernels/conv.cuh"
#include "kernels/gated_delta.cuh"
#include "kernels/selective_state.cuh"
#include "octavo/error.h"
#include "src/attend_plan.h"
#include "src/launch_limits.h"
#include "src/operations.h"

namespace octavo::cuda {
inline namespace emulated {
namespace {

void require(bool is_taken, const char* what) {
  if (!is_taken) {
    throw Error(ErrorCode::Unimplemented, std::string(what) + ": not among the few kernels here");
  }
}

template <auto kKernel, unsigned kThreads>
void launch_items(const AttendPlan& plan, Stream stream) {
  launch(kKernel, {dim3(static_cast<unsigned>(num_items(plan))), dim3(kThreads)}, stream, plan);
}

void launch_wide(const AttendPlan& plan, Stream stream) {
  launch(attend_fast_wide_kernel<DType::E4M3, 64>,
         {dim3(static_cast<unsigned>(num_items(plan))), dim3(kWideThreads),
          sizeof(WideShared<DType::E4M3, 64>)},
         stream, plan);
}

bool rows_are(const KVRowsArg& rows, DType dtype, std::int64_t head_dim) {
  return rows.dtype == dtype && rows.head_dim == head_dim && rows_are_packed(rows);
}

AppendRows append_rows(const KVRowsArg& rows, const StepOperandArg& from) {
  require(rows.head_dim <= 256, "append");
  const auto units = static_cast<unsigned>(rows.head_dim) / kUnitElements;
  return {rows, from, static_cast<std::uint32_t>(std::bit_width(units - 1))};
}

template <typename Shared, typename Arg>
void launch_recurrence(void (*tuned)(Arg, RecurrentShape),
                       void (*any)(Arg, RecurrentShape),
                       const Arg& arg,
                       Stream stream) {
  const bool is_tuned = arg.k_dim % kPartRows == 0 && arg.v_dim % 4 == 0;
  require(arg.state.dtype == (is_tuned ? DType::F32 : DType::BF16), "recurrence");
  const std::int64_t columns = is_tuned ? 32 : 8;
  const RecurrentShape shape{
      .tiles = static_cast<std::uint32_t>(ceil_div(arg.v_dim, columns)),
      .heads = static_cast<std::uint32_t>(arg.heads),
      .lanes = 8,
      .parts = static_cast<std::uint32_t>(ceil_div(arg.k_dim, kPartRows)),
      .tokens = static_cast<std::uint32_t>(std::min<std::int64_t>(arg.step.max_query_len, 2))};
  const std::int64_t blocks = arg.step.batch * arg.heads * shape.tiles;
  launch(is_tuned ? tuned : any,
         {dim3(static_cast<unsigned>(blocks)),
          dim3(static_cast<unsigned>(ceil_div(8 * shape.parts, 32) * 32)),
          static_cast<std::size_t>(4 * Shared::size(shape.tokens, shape.parts, columns))},
         stream, arg, shape);
}

}  // namespace

AttendKernel find_attend_fast(const AttendArg& arg) {
  if (!rows_are(arg.keys, DType::E4M3, 80) || !rows_are(arg.values, DType::E4M3, 80)) {
    return {};
  }
  return {launch_items<attend_fast_kernel<DType::E4M3, 80>, kItemThreads>, kFastRows};
}

AttendKernel find_attend_fast_wide(const AttendArg& arg) {
  if (!rows_are(arg.keys, DType::E4M3, 64) || !rows_are(arg.values, DType::E4M3, 64)) {
    return {};
  }
  return {launch_wide, kWideRows, true};
}

AttendKernel find_attend_int(const AttendArg& arg) {
  if (!is_integer(arg.keys) || arg.keys.codec != arg.values.codec || arg.keys.head_dim != 64) {
    return {};
  }
  return {arg.keys.codec == KVCodec::Int4
              ? launch_items<attend_int_kernel<true, true, 64>, kItemThreads>
              : launch_items<attend_int_kernel<false, false, 64>, kItemThreads>,
          kIntRows};
}

AttendKernel find_attend_float(const AttendArg& arg) {
  if (!rows_are(arg.keys, DType::E4M3, 64) || !rows_are(arg.values, DType::E4M3, 64)) {
    return {};
  }
  return {launch_items<attend_float<FloatShape<RowFormat::E4M3, 64, 2>>, kFloatThreads>, 2};
}

AttendKernel find_attend_general(const AttendArg& arg) {
  require(is_integer(arg.keys) && !is_integer(arg.values), "attend");
  return {launch_items<attend_general<true, false>, kGeneralThreads>, kGeneralRows};
}

void append(const AppendArg& arg, Stream stream) {
  AppendTask task;
  task.parts[0] = append_rows(arg.keys, arg.key);
  task.parts[1] = append_rows(arg.values, arg.value);
  task.step = arg.step;
  task.rows = static_cast<std::uint64_t>(arg.step.tokens * arg.kv_heads);
  task.heads = static_cast<std::uint32_t>(arg.kv_heads);
  if (task.rows > 0) {
    launch(append_kernel<1>, {dim3(2, 2), dim3(kAppendThreads)}, stream, task);  // In turns.
  }
}

void store_cross(const StoreCrossArg& /*arg*/, Stream /*stream*/) {
  require(false, "store_cross");
}

void conv_update(const ConvUpdateArg& arg, Stream stream) {
  const auto batch = static_cast<unsigned>(arg.step.batch);
  const ConvGrid grid{.channel_groups = 1, .segment_tokens = arg.step.tokens};
  if (arg.width == 3) {
    require(arg.dim <= 32, "conv_update");
    launch(conv_kernel<3, 1, kConvPrefillRun, kConvPrefillRows>,
           {dim3(batch), dim3(32, kConvPrefillRows)}, stream, arg, grid);
  } else {
    require(arg.dim <= kConvAnyThreads, "conv_update");
    const auto floats = static_cast<std::size_t>((arg.width + 1) * kConvAnyThreads);
    launch(conv_any_kernel, {dim3(batch), dim3(kConvAnyThreads), 4 * floats}, stream, arg, grid);
  }
}

void gated_delta_update(const GatedDeltaUpdateArg& arg, Stream stream) {
  launch_recurrence<DeltaShared>(gated_delta_kernel<DType::F32, 4>,
                                 gated_delta_kernel<DType::BF16, 1>, arg, stream);
}

void selective_state_update(const SelectiveStateUpdateArg& arg, Stream stream) {
  launch_recurrence<SelectiveShared>(selective_state_kernel<DType::F32, 4>,
                                     selective_state_kernel<DType::BF16, 1>, arg, stream);
}

}  // namespace emulated
}  // namespace octavo::cuda
