// CUDA for the host compiler: what kernels/platform.cuh names, without a GPU and without the CUDA
// Toolkit. Kernels see it through platform.cuh.
//
// Every CUDA thread is a fiber with its own stack. A block's threads take turns on one OS thread,
// at barriers and warp collectives, in the order of their numbers or in one drawn from a seed;
// blocks follow each other in an order of the same kind, on as many OS threads as the launch asks.
//
// It finds: barriers and collectives that threads reach divergently, masks that are wrong, reads of
// lanes that take no part, threads that end while others wait, deadlocks, misplaced and misaligned
// asynchronous copies, too much shared memory. Each raises Internal out of the launch.
// It poisons with 0xFF: shared memory that nobody wrote, destinations of copies not waited for.
// It tells AddressSanitizer where shared memory ends and ThreadSanitizer which accesses CUDA
// orders.
//
// It does not find: a thread that spins on what another has yet to do, which never ends here.
// __shared__, float atomics and whatever else is not named do not exist.
#pragma once

#include "arithmetic.h"
#include "async_copy.h"
#include "atomics.h"
#include "barrier_functions.h"
#include "keywords.h"
#include "launch.h"
#include "matrix_load.h"
#include "matrix_product.h"
#include "shared_variables.h"
#include "vector_types.h"
#include "warp_functions.h"
