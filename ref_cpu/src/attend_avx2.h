// The phases of a chunk in AVX2, each for all rows of a task. See attend_chunk.h.
//
// Threads: as ChunkTask. Run only where simd_enabled().
#pragma once

#include "attend_chunk.h"

namespace octavo::ref_cpu {

/// scores[row, t] for every position of the task's hull (the caller masks), float keys. `queries`
/// must hold the rows' queries.
void avx2_float_dots(const ChunkTask& task, ChunkScratch& scratch) noexcept;

/// The weighted sums of float values into task.out.
void avx2_float_sums(const ChunkTask& task, ChunkScratch& scratch) noexcept;

/// The same for integer keys; factors[row] is what the row's score factor is multiplied by.
void avx2_integer_dots(const ChunkTask& task, ChunkScratch& scratch, float* factors) noexcept;
void avx2_integer_sums(const ChunkTask& task, ChunkScratch& scratch) noexcept;

}  // namespace octavo::ref_cpu
