# Operations over tensors: validation and dispatch to the device.
target_sources(octavo_core
  PRIVATE
    src/ops/attention.cc
    src/ops/cache_rows.cc
    src/ops/check_step.cc
    src/ops/device_defaults.cc
    src/ops/op_check.cc
    src/ops/state_ops.cc
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/octavo/device_ops.h
    include/octavo/kv_ops.h)
