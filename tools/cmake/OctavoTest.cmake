include(GoogleTest)

# octavo_test(NAME LABEL unit|prop|sim|cli|slow|gpu SOURCES a.cc ... [LIBS target ...]
#             [TIMEOUT seconds] [WHOLE])
#
# A GoogleTest program, registered test by test under its label; with WHOLE not at all: whoever asks
# for that registers runs of it (octavo_shards). RapidCheck is at hand in all of them; its headers
# are SYSTEM ones since they are not clean under our warnings. The sources see OCTAVO_SOURCE_DIR,
# the absolute path of the checkout.
function(octavo_test name)
  cmake_parse_arguments(arg "WHOLE" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "octavo_test(${name}): unknown '${arg_UNPARSED_ARGUMENTS}', or no SOURCES")
  endif()
  if(NOT arg_LABEL MATCHES "^(unit|prop|sim|cli|slow|gpu)$")
    message(FATAL_ERROR
      "octavo_test(${name}): LABEL '${arg_LABEL}' is none of unit, prop, sim, cli, slow, gpu")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_compile_definitions(${name} PRIVATE OCTAVO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})  # "tests/support/..."
  target_link_libraries(${name} PRIVATE ${arg_LIBS} octavo_dev GTest::gtest_main rapidcheck
    rapidcheck_gtest)
  target_precompile_headers(${name} REUSE_FROM octavo_test_headers)
  target_compile_options(${name} PRIVATE ${OCTAVO_TEST_OPTIONS})
  if(arg_WHOLE)
    return()
  endif()
  # NO_PRETTY_VALUES: gtest prints parameters of own types as bytes, addresses among them, and they
  # would end up in the names.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# octavo_shards(NAME PROGRAM LABEL unit|... SHARDS n TIMEOUT seconds [ENVIRONMENT a=b ...])
#
# n runs of one program, each of a part of its tests, for programs that take long to start.
function(octavo_shards name program)
  cmake_parse_arguments(arg "" "LABEL;SHARDS;TIMEOUT" "ENVIRONMENT" ${ARGN})
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    add_test(NAME ${name}.Part${shard} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${name}.Part${shard} PROPERTIES
      LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT
        "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index};${arg_ENVIRONMENT}")
  endforeach()
endfunction()
