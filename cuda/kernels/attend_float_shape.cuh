// How the tuned float kernels divide their work among threads, and what the threads share.
//
// A block is 128 threads. Eight elements are a unit; bit_ceil(units of a row) lanes take a token,
// and the tokens that the block has lanes for at once are exactly the streams of the weighted sum
// (1024 / bit_ceil(head_dim)): a thread meets the tokens of its stream, in order, and of each its
// own unit. So a thread's keys and values pass through slots of shared memory that no other thread
// touches, and the loops over tokens have no barrier.
#pragma once

#include "attend_codes.cuh"
#include "attend_combine.cuh"
#include "attend_scores.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

constexpr int kFloatThreads = 128;
constexpr int kFloatWarps = kFloatThreads / 32;

/// kRows: of a tile: 1, 2, 4 or 8.
template <RowFormat kRowFormat, int kDim, int kTileRows>
struct FloatShape {
  static constexpr RowFormat kFormat = kRowFormat;
  static constexpr int kHeadDim = kDim;
  static constexpr int kRows = kTileRows;
  static constexpr bool kScaled = kFormat == RowFormat::E4M3 || kFormat == RowFormat::E5M2;
  static constexpr int kUnits = kHeadDim / 8;
  static constexpr int kLanes = kUnits <= 8 ? 8 : kUnits <= 16 ? 16 : 32;  ///< Of a token.
  static constexpr int kStreams = kFloatThreads / kLanes;
  static constexpr int kSteps = kChunkPositions / kStreams;  ///< Tokens of a stream.
  static constexpr int kUnitBytes = kFormat == RowFormat::F32 ? 32 : kScaled ? 8 : 16;
  static constexpr int kPieceBytes = kUnitBytes < 16 ? kUnitBytes : 16;  ///< Of one copy.
  static constexpr int kPieces = kUnitBytes / kPieceBytes;
  /// Tokens in flight a thread, one less than the slots: at most 16 KiB of slots a block.
  static constexpr int kStages = kFormat == RowFormat::F32 ? 4 : 8;
  /// Scores that are reduced together: of all rows, of so many tokens.
  static constexpr int kScores = 8;
  static constexpr int kScoreTokens = kScores / kRows;
  /// Scores lie [rows][streams][steps], padded: neither a warp that reads a row by position nor the
  /// lanes that write all rows of a token meet many times in a bank.
  static constexpr int kStreamStride = kSteps + 4;
  static constexpr int kRowStride = kStreams * kStreamStride + 4;
  /// Rows whose streams go through shared memory together: at most 16 KiB.
  static constexpr int kOutRows = kHeadDim > 128 && kRows > 4 ? 4 : kRows;
  /// Steps after which both slots and reductions are where they began.
  static constexpr int kRoundSteps = kStages > kScoreTokens ? kStages : kScoreTokens;
  static_assert(kRows <= kScores && kScores <= kLanes && kSteps % kRoundSteps == 0);
  static_assert(kRowStride >= kHeadDim);  // Queries fit where the scores will lie.
};

template <typename Shape>
struct FloatSlots {
  alignas(
      16) unsigned char bytes[Shape::kStages][Shape::kPieces][kFloatThreads][Shape::kPieceBytes];
};

/// Everything is indexed by row of the tile, or by position relative to the chunk. Positions that
/// no row sees have no address and no scales.
template <typename Shape>
struct FloatShared {
  union {
    FloatSlots<Shape> slots;  ///< Until the last value is read; a thread's own.
    alignas(16) float streams[kFloatWarps][Shape::kOutRows][Shape::kHeadDim];  ///< Then.
  };
  /// Queries, [rows][head_dim]; then dots, scores and weights of the row's position score_at(t).
  alignas(16) float scores[Shape::kRows * Shape::kRowStride];
  const std::uint8_t* key_rows[kChunkPositions];
  const std::uint8_t* value_rows[kChunkPositions];
  float key_scales[Shape::kScaled ? kChunkPositions : 1];
  float value_scales[Shape::kScaled ? kChunkPositions : 1];
  std::uint8_t seen[kChunkPositions];  ///< Bit r: row r sees it. Unset where all rows see all.
  std::int64_t slot[Shape::kRows];     ///< Of the row's partial results.
  std::int32_t begin[Shape::kRows];    ///< What the row sees of the chunk; nothing: begin == end.
  std::int32_t end[Shape::kRows];
  FinishShared<Shape::kRows> finish;
};

/// Where a thread stands, and what its block has to do.
struct FloatThread {
  int unit = 0;             ///< Of the row.
  int stream = 0;           ///< Of tokens.
  bool active = false;      ///< The unit exists: some head dims leave lanes without one.
  PositionRange hull = {};  ///< What the tile sees of the chunk.
  std::int32_t first_step = 0;
  std::int32_t end_step = 0;  ///< Steps with something to see, in whole rounds.
};

template <typename Shape>
__device__ __forceinline__ FloatThread float_thread(PositionRange hull) {
  constexpr int kRound = Shape::kRoundSteps * Shape::kStreams;
  const int thread = static_cast<int>(threadIdx.x);
  FloatThread at;
  at.unit = thread % Shape::kLanes;
  at.stream = thread / Shape::kLanes;
  at.active = Shape::kUnits == Shape::kLanes || at.unit < Shape::kUnits;
  at.hull = hull;
  at.first_step = hull.begin / kRound * Shape::kRoundSteps;
  at.end_step = (hull.end + kRound - 1) / kRound * Shape::kRoundSteps;
  return at;
}

template <typename Shape>
__device__ __forceinline__ int score_at(int row, int stream, int step) {
  return row * Shape::kRowStride + stream * Shape::kStreamStride + step;
}

/// Starts the copy of the thread's unit of its stream's token at `step`, if that is seen.
template <typename Shape, bool kFull>
__device__ __forceinline__ void fetch(const std::uint8_t* const* rows,
                                      const FloatThread& at,
                                      int step,
                                      int stage,
                                      FloatShared<Shape>& shared) {
  const int t = at.stream + Shape::kStreams * step;
  const bool seen = kFull ? step < Shape::kSteps : t >= at.hull.begin && t < at.hull.end;
  if (seen && at.active) {
    const std::uint8_t* const from = rows[t] + at.unit * Shape::kUnitBytes;
    OCTAVO_UNROLL
    for (int piece = 0; piece < Shape::kPieces; ++piece) {
      async_copy<Shape::kPieceBytes>(shared.slots.bytes[stage][piece][threadIdx.x],
                                     from + piece * Shape::kPieceBytes, true);
    }
  }
  async_copy_commit();
}

/// The copies of the first steps, all but one of the stages.
template <typename Shape, bool kFull>
__device__ __forceinline__ void fetch_first(const std::uint8_t* const* rows,
                                            const FloatThread& at,
                                            FloatShared<Shape>& shared) {
  OCTAVO_UNROLL
  for (int stage = 0; stage < Shape::kStages - 1; ++stage) {
    fetch<Shape, kFull>(rows, at, at.first_step + stage, stage, shared);
  }
}

/// Starts the copy that is due at step + stage, and waits for the one of that step.
template <typename Shape, bool kFull>
__device__ __forceinline__ void fetch_next(const std::uint8_t* const* rows,
                                           const FloatThread& at,
                                           int step,
                                           int stage,
                                           FloatShared<Shape>& shared) {
  constexpr int kAhead = Shape::kStages - 1;
  fetch<Shape, kFull>(rows, at, step + stage + kAhead, (stage + kAhead) % Shape::kStages, shared);
  async_copy_wait<kAhead>();
}

/// The unit that arrived in a slot.
template <typename Shape>
__device__ __forceinline__ void read_slot(const FloatShared<Shape>& shared,
                                          int stage,
                                          float (&x)[8]) {
  PackedElements<8> packed;
  OCTAVO_UNROLL
  for (int piece = 0; piece < Shape::kPieces; ++piece) {
    load_bytes<Shape::kPieceBytes>(shared.slots.bytes[stage][piece][threadIdx.x], true,
                                   packed.words + 4 * piece);
  }
  decode(Shape::kFormat, packed, x);
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
