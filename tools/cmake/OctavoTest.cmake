include(GoogleTest)

# octavo_test(NAME LABEL unit|prop|sim|cli|slow|gpu SOURCES a.cc ... [LIBS target ...]
#             [TIMEOUT seconds])
#
# A GoogleTest program, registered test by test under its label. RapidCheck is at hand in all of
# them; its headers are SYSTEM ones since they are not clean under our warnings. The sources see
# OCTAVO_SOURCE_DIR, the absolute path of the checkout.
function(octavo_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
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
  # NO_PRETTY_VALUES: gtest prints parameters of own types as bytes, addresses among them, and they
  # would end up in the names.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
