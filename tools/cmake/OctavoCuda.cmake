# OCTAVO_CUDA: whether the kernels are compiled for GPUs. AUTO does so where the CUDA compiler is
# found that they are tested with, ON with any that may do, and demands one; OFF does not look. Sets
# OCTAVO_HAS_CUDA. (The emulation of the kernels needs no toolkit and is always built.)
set(OCTAVO_HAS_CUDA OFF)
if(NOT OCTAVO_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "OCTAVO_CUDA: '${OCTAVO_CUDA}' is none of AUTO, ON, OFF")
endif()
if(OCTAVO_GPU_TESTS AND NOT OCTAVO_CUDA STREQUAL "ON")
  message(FATAL_ERROR "OCTAVO_GPU_TESTS needs OCTAVO_CUDA=ON; it is ${OCTAVO_CUDA}")
endif()
if(OCTAVO_CUDA STREQUAL "OFF")
  return()
endif()

# The toolkit's usual place, for systems where it is on nobody's path.
find_program(OCTAVO_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(OCTAVO_NVCC)
if(OCTAVO_NVCC AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${OCTAVO_NVCC})
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)  # For the compiler's own tests; the library names its own.
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(OCTAVO_CUDA STREQUAL "ON")
    message(FATAL_ERROR "OCTAVO_CUDA=ON: no CUDA compiler was found; set CMAKE_CUDA_COMPILER")
  endif()
  return()
endif()
enable_language(CUDA)
# C++20 and sm_90a as the kernels are written need CUDA 12.
if(OCTAVO_CUDA STREQUAL "ON" AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR
    "OCTAVO_CUDA=ON: CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old; 12.0 is needed")
endif()
if(OCTAVO_CUDA STREQUAL "AUTO" AND NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.")
  message(STATUS "no CUDA backend: it is tested with CUDA 13, this is "
    "${CMAKE_CUDA_COMPILER_VERSION}; OCTAVO_CUDA=ON takes it")
  return()
endif()
# CMake 3.25 does not know this flag of nvcc yet.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(OCTAVO_HAS_CUDA ON)

# Machine code for Ampere and Hopper, PTX for what comes after.
set(OCTAVO_ALL_CUDA_ARCHITECTURES "80-real;90a-real;90-virtual")
set(OCTAVO_CUDA_ARCHITECTURES "${OCTAVO_ALL_CUDA_ARCHITECTURES}" CACHE STRING
  "What GPUs the kernels are compiled for, as CMake's CUDA_ARCHITECTURES")
# Every operation is rounded where it is written: nothing is fused, flushed or approximated.
set(OCTAVO_CUDA_OPTIONS -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
  "SHELL:-Xcompiler -ffp-contract=off,-Wall,-Wextra,-Wshadow"
  $<$<BOOL:${OCTAVO_WERROR}>:-Werror=all-warnings>)
