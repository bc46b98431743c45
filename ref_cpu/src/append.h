// Appending: a step's keys and values, converted or quantized, into the rows of a cache; and the
// same for the rows of a cross-attention layer.
//
// Every (token, head) row is written by itself, so its bytes depend on nothing but its values.
//
// Threads: one call at a time on the same rows; the work is spread over the pool.
#pragma once

#include "octavo/device_ops.h"
#include "parallel.h"

namespace octavo::ref_cpu {

void append_rows(const AppendArg& arg, ThreadPool& pool);
void store_cross_rows(const StoreCrossArg& arg, ThreadPool& pool);

}  // namespace octavo::ref_cpu
