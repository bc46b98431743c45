# Configuration, tensors and the storage plan.
target_sources(octavo_core
  PRIVATE
    src/base/checked.cc
    src/base/dims.cc
    src/base/dtype.cc
    src/base/host_device.cc
    src/base/null_device.cc
    src/base/tensor.cc
    src/plan/fit.cc
    src/plan/kv_config.cc
    src/plan/kv_plan.cc
    src/plan/kv_storage.cc
    src/plan/lay_out.cc
    src/plan/resolve_quant.cc
    src/plan/resolve_rows.cc
  PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
    include/octavo/device.h
    include/octavo/dims.h
    include/octavo/dtype.h
    include/octavo/kv_config.h
    include/octavo/kv_footprint.h
    include/octavo/kv_row_info.h
    include/octavo/tensor.h)
