# The digest program of attention, built as differently as this machine can. Of the library only
# ref_cpu and the world are built anew: of core, nothing depends on how floats are compiled.
set(attend_digest_sources attend_digest_main.cc attend_world.cc)
get_target_property(ref_cpu_sources octavo_ref_cpu SOURCES)
foreach(source IN LISTS ref_cpu_sources)
  if(source MATCHES "\\.cc$")
    list(APPEND attend_digest_sources ${PROJECT_SOURCE_DIR}/ref_cpu/${source})
  endif()
endforeach()
list(TRANSFORM attend_digest_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^attend")
set(attend_digest_includes ${PROJECT_SOURCE_DIR}/ref_cpu/src ${PROJECT_SOURCE_DIR}/ref_cpu/include
  ${PROJECT_SOURCE_DIR}/core/include ${CMAKE_CURRENT_SOURCE_DIR})

set(attend_digest_programs)
function(attend_digest_program name)
  add_executable(${name} ${attend_digest_sources})
  target_include_directories(${name} PRIVATE ${attend_digest_includes})
  target_link_libraries(${name} PRIVATE octavo_core octavo_dev Threads::Threads Eigen3::Eigen)
  target_compile_definitions(${name} PRIVATE EIGEN_DONT_VECTORIZE)
  target_compile_options(${name} PRIVATE ${ARGN})
  set(attend_digest_programs ${attend_digest_programs} $<TARGET_FILE:${name}> PARENT_SCOPE)
endfunction()

find_package(Eigen3 3.3 REQUIRED NO_MODULE)
find_package(Threads REQUIRED)
attend_digest_program(attend_digest_o0 -O0)
attend_digest_program(attend_digest_o3 -O3)
if(EXISTS /proc/cpuinfo AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  file(STRINGS /proc/cpuinfo fma_machine REGEX "^flags.* fma .* avx2 " LIMIT_COUNT 1)
  if(fma_machine)
    attend_digest_program(attend_digest_fma -O3 -mavx2 -mfma)
  endif()
endif()

# The other compiler's build is linked with this one's core, so it needs the same instrumentation.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(OCTAVO_OTHER_CXX NAMES g++)
else()
  find_program(OCTAVO_OTHER_CXX NAMES clang++ clang++-19 clang++-14)
endif()
if(OCTAVO_OTHER_CXX AND NOT OCTAVO_SANITIZE AND NOT OCTAVO_COVERAGE)
  set(other ${CMAKE_CURRENT_BINARY_DIR}/attend_digest_other)
  list(TRANSFORM attend_digest_includes PREPEND -I OUTPUT_VARIABLE other_includes)
  get_target_property(eigen_includes Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
  file(GLOB ref_cpu_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ref_cpu/src/*.h)
  add_custom_command(OUTPUT ${other}
    COMMAND ${OCTAVO_OTHER_CXX} -std=c++20 -O2 -ffp-contract=off -DEIGEN_DONT_VECTORIZE
            ${other_includes} -isystem ${eigen_includes} ${attend_digest_sources}
            $<TARGET_FILE:octavo_core> -pthread -o ${other}
    DEPENDS ${attend_digest_sources} ${ref_cpu_headers} attend_world.h octavo_core
    COMMENT "Digest program of attention with ${OCTAVO_OTHER_CXX}"
    VERBATIM)
  add_custom_target(attend_other_compiler DEPENDS ${other})
  list(APPEND attend_digest_programs ${other})
endif()

octavo_test(attend_digest_test LABEL unit SOURCES attend_digest_test.cc)
list(JOIN attend_digest_programs "," programs)
target_compile_definitions(attend_digest_test PRIVATE
  OCTAVO_DIGESTS="${CMAKE_CURRENT_SOURCE_DIR}/attend_digests.txt"
  OCTAVO_DIGEST_PROGRAMS="${programs}")
add_dependencies(attend_digest_test attend_digest_o0 attend_digest_o3)
foreach(program IN ITEMS attend_digest_fma attend_other_compiler)
  if(TARGET ${program})
    add_dependencies(attend_digest_test ${program})
  endif()
endforeach()
