# The library octavo_version: the version, the commit and the build, for `octavo --version`.
#
# The commit is read at build time, so that it is right after a commit without a new configure. It
# is written to its own one source file, and only when it changed: a new commit compiles that file
# and links the program, nothing else.
set(version_source ${PROJECT_BINARY_DIR}/generated/version.cc)
add_custom_target(octavo_version_source
  COMMAND ${CMAKE_COMMAND}
    -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
    -D TEMPLATE=${CMAKE_CURRENT_SOURCE_DIR}/src/version.cc.in
    -D OUTPUT=${version_source}
    -D VERSION=${PROJECT_VERSION}
    -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    -D BUILD_TYPE=$<CONFIG>
    -D CUDA=$<IF:$<BOOL:${OCTAVO_HAS_CUDA}>,true,false>
    -P ${CMAKE_CURRENT_LIST_DIR}/WriteVersion.cmake
  BYPRODUCTS ${version_source}
  COMMENT "Reading the commit" VERBATIM)

add_library(octavo_version STATIC src/version.h ${version_source})
add_dependencies(octavo_version octavo_version_source)
target_include_directories(octavo_version PUBLIC src)
target_link_libraries(octavo_version PRIVATE octavo_dev)
