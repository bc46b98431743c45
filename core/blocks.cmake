# The block manager. xxHash is header-only; nothing of it shows in a public header.
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
target_include_directories(octavo_core SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
target_sources(octavo_core
  PRIVATE
    src/base/virtual_memory.cc
    src/blocks/admit.cc
    src/blocks/audit.cc
    src/blocks/block_manager.cc
    src/blocks/digest.cc
    src/blocks/eviction.cc
    src/blocks/eviction_order.cc
    src/blocks/hdq.cc
    src/blocks/hdq_audit.cc
    src/blocks/hdq_density.cc
    src/blocks/hdq_groups.cc
    src/blocks/hdq_known.cc
    src/blocks/hdq_order.cc
    src/blocks/prefix_tree.cc
    src/blocks/prefix_tree_evict.cc
    src/blocks/prefix_tree_keys.cc
    src/blocks/prefix_tree_match.cc
    src/blocks/release.cc
    src/blocks/replay.cc
    src/blocks/retention.cc
    src/blocks/retire.cc
    src/blocks/rewrite.cc
    src/blocks/run_store.cc
    src/blocks/seal.cc
    src/blocks/step.cc
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/octavo/block_manager.h
    include/octavo/eviction.h
    include/octavo/kv_events.h
    include/octavo/kv_stats.h)
