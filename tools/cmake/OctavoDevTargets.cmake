# Targets for those who work on Octavo; none of them is part of a build or of the test run.

# format: clang-format over everything. Versions 14 and 19 agree on this tree.
find_program(OCTAVO_CLANG_FORMAT NAMES clang-format)
mark_as_advanced(OCTAVO_CLANG_FORMAT)
if(OCTAVO_CLANG_FORMAT)
  add_custom_target(format
    COMMAND find core ref_cpu cuda sim tools tests ( -name *.h -o -name *.cc -o -name *.cu
      -o -name *.cuh ) -exec ${OCTAVO_CLANG_FORMAT} -i {} +
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "clang-format" VERBATIM)
endif()

# tidy: clang-tidy over everything that is compiled. 19 is the version that .clang-tidy is kept
# clean with; 14 cannot parse parts of libstdc++ 12.
find_program(OCTAVO_CLANG_TIDY NAMES clang-tidy-19 clang-tidy)
find_program(OCTAVO_RUN_CLANG_TIDY NAMES run-clang-tidy-19 run-clang-tidy)
mark_as_advanced(OCTAVO_CLANG_TIDY OCTAVO_RUN_CLANG_TIDY)
if(OCTAVO_CLANG_TIDY AND OCTAVO_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${OCTAVO_RUN_CLANG_TIDY} -quiet -clang-tidy-binary ${OCTAVO_CLANG_TIDY}
      -extra-arg=-Wno-unknown-warning-option -p ${PROJECT_BINARY_DIR}
      "^${PROJECT_SOURCE_DIR}/(core|ref_cpu|sim|tools|tests)/.*"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL
    COMMENT "clang-tidy (minutes)" VERBATIM)
endif()

# coverage: the line and branch coverage of the library sources after a test run of this build.
if(OCTAVO_COVERAGE)
  find_program(OCTAVO_GCOVR NAMES gcovr)
  mark_as_advanced(OCTAVO_GCOVR)
  if(OCTAVO_GCOVR)
    add_custom_target(coverage
      COMMAND ${OCTAVO_GCOVR} --root ${PROJECT_SOURCE_DIR} --object-directory ${PROJECT_BINARY_DIR}
        --filter "${PROJECT_SOURCE_DIR}/(core|ref_cpu|sim|tools)/"
        --html-details ${PROJECT_BINARY_DIR}/coverage.html --txt
      WORKING_DIRECTORY ${PROJECT_BINARY_DIR} USES_TERMINAL
      COMMENT "gcovr; pages in ${PROJECT_BINARY_DIR}/coverage.html" VERBATIM)
  endif()
endif()
