// What the threads of a block share in fast attention of wide tiles (NUMERICS.md, section 9): a
// chunk of keys and of values, each loaded once for 128 rows, and the queries.
//
// A block is eight warps of sixteen rows each. Positions do not lie in their order: the sixteen of
// a product lie so that those of its first half come first (operand_place), the same for keys and
// values. So a warp's scores are the left operand of its weighted sums as they stand, and each
// product takes the positions that it takes in attend_fast.cuh.
#pragma once

#include "attend_fast_keys.cuh"
#include "attend_fast_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kWideThreads = 256;
constexpr int kWideWarps = kWideThreads / 32;
constexpr int kWarpRows = 16;
constexpr int kOctets = kChunkPositions / 8;  ///< Of positions, as products of keys take them.
static_assert(kWideRows == kWideWarps * kWarpRows && kWideThreads == kChunkPositions);

/// Strides are odd multiples of what eight lanes read of a row at a time, or all eight lanes would
/// meet in the same banks: 64 bytes of a key, 16 of a value.
template <DType kDType, int kHeadDim>
struct WideShape {
  using Key = FastKeyShape<kDType, kHeadDim>;
  static constexpr bool kScales = FastFormat<kDType>::kBytes;
  static constexpr int kRowUnits = Key::kRowBytes / 16;
  static constexpr int kKeyUnits = 4 * Key::kPieces;  ///< Of 16 bytes; zeros beyond the row's end.
  static constexpr int kKeyStride = 64 * (Key::kPieces | 1);
  static constexpr int kValueStride = 16 * (kRowUnits | 1);
  static constexpr int kScaleCount = kScales ? kChunkPositions : 1;
  static_assert(Key::kRowBytes % 16 == 0);
};

template <DType kDType, int kHeadDim>
struct WideShared {
  using Shape = WideShape<kDType, kHeadDim>;
  alignas(16) std::uint8_t keys[kChunkPositions][Shape::kKeyStride];
  alignas(16) std::uint8_t values[kChunkPositions][Shape::kValueStride];
  /// By warp, piece, product and lane: the lane's left operand as it stands, eight halves.
  alignas(16) std::uint16_t queries[kWideWarps][Shape::Key::kPieces][Shape::Key::kProducts][32][8];
  /// By position in the chunk. Scales are of a chunk of even and one of odd number: those of the
  /// next chunk come while this one's are read.
  const std::uint8_t* key_rows[kChunkPositions];
  const std::uint8_t* value_rows[kChunkPositions];
  alignas(16) float key_scales[2][Shape::kScaleCount];
  alignas(16) float value_scales[2][Shape::kScaleCount];
  // By row of the tile.
  PositionRange seen[kWideRows];  ///< Nothing where there is no row.
  float score_factor[kWideRows];
};

/// Where element d of the query of a row goes (FastQueries has the order of elements).
template <DType kDType, int kHeadDim>
__device__ __forceinline__ std::uint16_t& query_operand(WideShared<kDType, kHeadDim>& shared,
                                                        int row,
                                                        int d) {
  using Key = FastKeyShape<kDType, kHeadDim>;
  const int unit = d / Key::kLaneElements;
  const int within = d % 4;
  const int lane = row % 8 * 4 + unit % 4;
  const int half = within / 2 * 4 + row % kWarpRows / 8 * 2 + within % 2;
  return shared.queries[row / kWarpRows][unit / 4][d % Key::kLaneElements / 4][lane][half];
}

/// Where the row of position t of a chunk lies. Of sixteen, lane `tig` of a product has 4 tig ..
/// 4 tig + 3: the first two in the first half of the sum, the others in the second.
__device__ __forceinline__ int operand_place(int t) {
  const int within = t % 16;
  return t - within + within % 4 / 2 * 8 + within / 4 * 2 + within % 2;
}

/// The position whose row is row `row` of an octet of those places.
__device__ __forceinline__ int position_of(int octet, int row) {
  return octet / 2 * 16 + row / 2 * 4 + octet % 2 * 2 + row % 2;
}

/// Addresses of a chunk's rows, one a thread, and their scales on the way. As in locate_rows
/// (attend_item_shared.cuh), a position that no row sees stands for one that some row sees.
template <DType kDType, int kHeadDim>
__device__ __forceinline__ void locate_wide_rows(const AttendPlan& plan,
                                                 const AttendItem& item,
                                                 PositionRange seen,
                                                 WideShared<kDType, kHeadDim>& shared) {
  const AttendArg& arg = plan.arg;
  const int t = static_cast<int>(threadIdx.x);
  const int nearest = max(seen.begin, min(t, seen.end - 1));
  const RowPlace place = place_of(plan, item.tile, item.chunk * kChunkPositions + nearest);
  shared.key_rows[t] = row_data(arg.keys, item.kv_head, place);
  shared.value_rows[t] = row_data(arg.values, item.kv_head, place);
  if constexpr (WideShape<kDType, kHeadDim>::kScales) {
    const int half = item.chunk % 2;
    async_copy<4>(&shared.key_scales[half][t], row_scale(arg.keys, item.kv_head, place), true);
    async_copy<4>(&shared.value_scales[half][t], row_scale(arg.values, item.kv_head, place), true);
  }
}

/// Starts copies of kUnits units of 16 bytes of every row: zeros beyond kRowUnits of them, and for
/// positions that are not `seen`.
template <int kUnits, int kRowUnits, std::size_t kStride>
__device__ __forceinline__ void copy_wide_rows(const std::uint8_t* const* rows,
                                               PositionRange seen,
                                               std::uint8_t (*to)[kStride]) {
  constexpr int kTurn = kWideThreads / kUnits;  // Rows.
  static_assert(kTurn * kUnits == kWideThreads && kTurn % 16 == 0);
  const int first = static_cast<int>(threadIdx.x) / kUnits;
  const int unit = static_cast<int>(threadIdx.x) % kUnits;
  const int from = 16 * min(unit, kRowUnits - 1);  // Some address of the row.
  std::uint8_t* const first_to = &to[operand_place(first)][16 * unit];
  OCTAVO_UNROLL
  for (int t = 0; t < kChunkPositions; t += kTurn) {
    const bool on = contains(seen, first + t) && unit < kRowUnits;
    async_copy<16>(first_to + t * static_cast<int>(kStride), rows[first + t] + from, on);
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
