// Attention over integer rows: queries into limbs, and their exact dot products with the keys of a
// chunk.
//
// Right operand: eight keys a step, one a group of four lanes. A lane loads 8 or 16 consecutive
// bytes of its key and feeds them to the product as they stand; the queries' fragments take the
// order of elements that results.
#pragma once

#include "attend_int_shared.cuh"

namespace octavo::cuda {
inline namespace OCTAVO_CUDA_TARGET {

/// How the lanes of a warp share the bytes of a key: lane `tig` of four has kLaneBytes from
/// tig * kLaneBytes on of each piece. The last piece may be partly empty.
template <bool kInt4, int kHeadDim>
struct KeyShape {
  static constexpr int kRowBytes = kInt4 ? kHeadDim / 2 : kHeadDim;
  /// 8 for the int4 rows of 32 and 40 bytes, which are shorter or less aligned.
  static constexpr int kLaneBytes = kRowBytes < 48 ? 8 : 16;
  static constexpr int kWords = kLaneBytes / 4;
  static constexpr int kPieces = (kRowBytes + 4 * kLaneBytes - 1) / (4 * kLaneBytes);
  /// A product takes eight elements a lane: two words of int8, one of int4.
  static constexpr int kProducts = kInt4 ? kWords : kWords / 2;
  static constexpr int kElementsPerByte = kInt4 ? 2 : 1;
  static constexpr int kPaddedDim = kPieces * 4 * kLaneBytes * kElementsPerByte;
  static constexpr int kQueryElements = kPaddedDim / 16;  ///< A thread's, as queries are split.
  /// Steps of eight keys a warp that are loaded at once: 32 registers, or all there are.
  static constexpr int kStepsAhead = kPieces * kWords >= 16 ? 2 : kPieces * kWords >= 8 ? 4 : 8;
  static_assert(kPaddedDim <= kLimbStride);
};

/// Where the limb of element d lies in its row. int4 keeps the even elements of eight before the
/// odd ones: low nibbles of a word of keys meet the former, high ones the latter.
template <bool kInt4>
__device__ __forceinline__ int limb_place(int d) {
  return kInt4 ? (d & ~7) + (d & 1) * 4 + (d & 7) / 2 : d;
}

/// Queries into limbs, sixteen threads a row. |q_i| <= 2^13, so both limbs lie in [-64, 64]; rows
/// that are not there and elements beyond the head's are 0.
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void split_queries(const AttendPlan& plan,
                                              const AttendItem& item,
                                              IntShared<kHeadDim>& shared) {
  constexpr int kElements = KeyShape<kInt4, kHeadDim>::kQueryElements;
  const int row = static_cast<int>(threadIdx.x) / 16;
  const int lane = static_cast<int>(threadIdx.x) % 16;
  const StepOperandArg& query = plan.arg.query;
  float x[KeyShape<kInt4, kHeadDim>::kQueryElements] = {};
  std::uint32_t largest = 0;
  if (row < item.tile.num_rows) {
    const std::int64_t base = token_of(plan, item.tile, row) * query.token_stride +
                              head_of(plan, item.tile, item.kv_head, row) * query.head_stride;
    OCTAVO_UNROLL
    for (int i = 0; i < kElements; ++i) {
      const int d = lane + 16 * i;
      x[i] = d < kHeadDim ? load_element(query.dtype, query.data, base + d) : 0.0f;
    }
  }
  OCTAVO_UNROLL
  for (int i = 0; i < kElements; ++i) {
    largest = larger(largest, __float_as_uint(magnitude(x[i])));
  }
  const FixedPoint scale = fixed_point<kQueryBits>(largest_of_lanes<16>(largest));
  OCTAVO_UNROLL
  for (int i = 0; i < kElements; ++i) {
    const std::int32_t fixed = to_fixed(x[i], scale);
    const std::int32_t high = (fixed + 64) >> 7;
    const int at = limb_place<kInt4>(lane + 16 * i);
    shared.limbs[row][at] = static_cast<std::uint8_t>(high);
    shared.limbs[row + kIntRows][at] = static_cast<std::uint8_t>(fixed - high * 128);
  }
  if (lane == 0) {
    shared.score_factor[row] = __fmul_rn(plan.arg.score_factor, scale.from_integer);
  }
}

/// A lane's bytes of one key.
template <bool kInt4, int kHeadDim>
struct KeyPieces {
  std::uint32_t words[KeyShape<kInt4, kHeadDim>::kPieces][KeyShape<kInt4, kHeadDim>::kWords];
};

/// Zeros beyond the row's end. (int4 zeros count as codes -8; the limbs of the elements beyond the
/// end are 0.)
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void load_key(const std::uint8_t* row,
                                         int tig,
                                         KeyPieces<kInt4, kHeadDim>& key) {
  using Shape = KeyShape<kInt4, kHeadDim>;
  OCTAVO_UNROLL
  for (int p = 0; p < Shape::kPieces; ++p) {
    const int at = (p * 4 + tig) * Shape::kLaneBytes;
    const bool on = Shape::kRowBytes % (4 * Shape::kLaneBytes) == 0 || at < Shape::kRowBytes;
    if constexpr (Shape::kLaneBytes == 16) {
      const uint4 loaded =
          on ? __ldg(reinterpret_cast<const uint4*>(row + at)) : make_uint4(0, 0, 0, 0);
      key.words[p][0] = loaded.x;
      key.words[p][1] = loaded.y;
      key.words[p][2] = loaded.z;
      key.words[p][3] = loaded.w;
    } else {
      const uint2 loaded = on ? __ldg(reinterpret_cast<const uint2*>(row + at)) : make_uint2(0, 0);
      key.words[p][0] = loaded.x;
      key.words[p][1] = loaded.y;
    }
  }
}

/// The left operand of all products: the limbs of row lane / 4.
template <bool kInt4, int kHeadDim>
struct QueryFragments {
  using Shape = KeyShape<kInt4, kHeadDim>;
  std::uint32_t a[Shape::kPieces][Shape::kProducts][4];

  __device__ __forceinline__ void load(const IntShared<kHeadDim>& shared, int row, int tig) {
    OCTAVO_UNROLL
    for (int p = 0; p < Shape::kPieces; ++p) {
      OCTAVO_UNROLL
      for (int j = 0; j < Shape::kProducts; ++j) {
        const int first = (p * 4 + tig) * Shape::kLaneBytes * Shape::kElementsPerByte + 8 * j;
        const uint2 high = *reinterpret_cast<const uint2*>(&shared.limbs[row][first]);
        const uint2 low = *reinterpret_cast<const uint2*>(&shared.limbs[row + kIntRows][first]);
        a[p][j][0] = high.x;
        a[p][j][1] = low.x;
        a[p][j][2] = high.y;
        a[p][j][3] = low.y;
      }
    }
  }

  /// Dots of row lane / 4 with keys 2 tig and 2 tig + 1 of a step. Codes are at most 2^7, int4's
  /// times 16 too, and limbs at most 2^6: a limb's sum is at most 2^6 * 2^7 * 256 = 2^21. Joined
  /// they are sum q_i code_i, at most 2^13 * 2^7 * 256 = 2^28.
  __device__ __forceinline__ int2 dots(const KeyPieces<kInt4, kHeadDim>& key) const {
    std::int32_t c[4] = {0, 0, 0, 0};
    OCTAVO_UNROLL
    for (int p = 0; p < Shape::kPieces; ++p) {
      OCTAVO_UNROLL
      for (int j = 0; j < Shape::kProducts; ++j) {
        if constexpr (kInt4) {
          mma_s8_s8(c, a[p][j], low_nibbles(key.words[p][j]), high_nibbles(key.words[p][j]));
        } else {
          mma_s8_s8(c, a[p][j], key.words[p][2 * j], key.words[p][2 * j + 1]);
        }
      }
    }
    constexpr int kShift = kInt4 ? 4 : 0;
    return make_int2((c[0] * 128 + c[2]) >> kShift, (c[1] * 128 + c[3]) >> kShift);
  }
};

/// Dots of all rows with the keys of `seen`; those with other keys are not used. Steps go round the
/// warps, so that a short chunk keeps all of them busy; several steps' loads are in flight before
/// the first product waits.
template <bool kInt4, int kHeadDim>
__device__ __forceinline__ void multiply_keys(PositionRange seen,
                                              int num_rows,
                                              IntShared<kHeadDim>& shared) {
  using Shape = KeyShape<kInt4, kHeadDim>;
  constexpr int kSteps = kChunkPositions / (8 * kItemWarps);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int group = static_cast<int>(threadIdx.x) % 32 / 4;
  const int tig = static_cast<int>(threadIdx.x) % 4;
  QueryFragments<kInt4, kHeadDim> query;
  query.load(shared, group, tig);
  OCTAVO_NO_UNROLL
  for (int first = 0; first < kSteps; first += Shape::kStepsAhead) {
    KeyPieces<kInt4, kHeadDim> keys[Shape::kStepsAhead];
    OCTAVO_UNROLL
    for (int u = 0; u < Shape::kStepsAhead; ++u) {
      const int t = ((first + u) * kItemWarps + warp) * 8 + group;
      load_key<kInt4, kHeadDim>(shared.key_rows[t], tig, keys[u]);
    }
    OCTAVO_UNROLL
    for (int u = 0; u < Shape::kStepsAhead; ++u) {
      const int t = ((first + u) * kItemWarps + warp) * 8;
      if (t + 8 <= seen.begin || t >= seen.end) {
        continue;  // The same for the whole warp.
      }
      const int2 dots = query.dots(keys[u]);
      if (group < num_rows) {
        *reinterpret_cast<int2*>(&shared.dots[group][t + 2 * tig]) = dots;
      }
    }
  }
}

}  // namespace OCTAVO_CUDA_TARGET
}  // namespace octavo::cuda
