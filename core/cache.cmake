# KVCache.
target_sources(octavo_core
  PRIVATE
    src/cache/audit.cc
    src/cache/block_table_buffer.cc
    src/cache/continuous_slots.cc
    src/cache/cross.cc
    src/cache/hints.cc
    src/cache/host_ids.cc
    src/cache/int_buffer.cc
    src/cache/kv_cache.cc
    src/cache/kv_cache_impl.cc
    src/cache/ring_guard.cc
    src/cache/session.cc
    src/cache/step.cc
    src/cache/storage_ops.cc
    src/cache/uploader.cc
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/octavo/kv_cache.h)
