# What our own targets are compiled with.
#
# Warnings, sanitizers and coverage sit on octavo_dev, an interface target that is linked PRIVATE
# (through $<BUILD_INTERFACE:...> where a target is installed): a consumer of the package sees none.

# A fused multiply-add where the source says a*b+c changes bits between machines and optimisation
# levels (GCC contracts by default). This is the one flag that no target may miss, so it belongs to
# the directory and not to octavo_dev.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

add_library(octavo_dev INTERFACE)
target_compile_features(octavo_dev INTERFACE cxx_std_20)
target_compile_options(octavo_dev INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor
  -Wold-style-cast -Wcast-qual
  # GCC 12 sees an overlapping copy inside its own std::string whenever a literal stands left of a
  # +, as in "x" + text.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(OCTAVO_WERROR)
  target_compile_options(octavo_dev INTERFACE -Werror)
endif()

if(OCTAVO_SANITIZE)
  string(REPLACE "," ";" sanitizers "${OCTAVO_SANITIZE}")
  foreach(sanitizer IN LISTS sanitizers)
    if(NOT sanitizer MATCHES "^(address|undefined|thread|leak)$")
      message(FATAL_ERROR
        "OCTAVO_SANITIZE: '${sanitizer}' is none of address, undefined, thread, leak")
    endif()
  endforeach()
  target_compile_options(octavo_dev INTERFACE
    -fsanitize=${OCTAVO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(octavo_dev INTERFACE -fsanitize=${OCTAVO_SANITIZE})
endif()

if(OCTAVO_COVERAGE)
  target_compile_options(octavo_dev INTERFACE --coverage -O0)
  target_link_options(octavo_dev INTERFACE --coverage)
endif()
