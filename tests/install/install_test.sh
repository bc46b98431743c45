#!/usr/bin/env bash
# install_test.sh BUILD_FOLDER SOURCE_FOLDER CXX CONFIG GENERATOR: installs the build into a
# temporary prefix, moves that prefix, and builds and runs a consumer against it: with find_package
# and with pkg-config.
set -o pipefail

build=$1
source=$2
cxx=$3
config=$4
generator=$5 # the one of the build is there; CMake's own choice, make, need not be
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
prefix="$scratch/moved here"
want='40 of 48 tokens cached, slot 7 refused'
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}

# expect_equal WHAT WANT GOT
expect_equal() {
  [[ $2 == "$3" ]] || fail "$1: wanted '$2', got '$3'"
}

# refused WORDS CMAKE_ARGUMENTS...: configuring the consumer fails and says WORDS.
refused() {
  local words=$1 output
  shift
  if output=$(configure refused "$@" 2>&1); then
    fail "configuring with $* should have failed"
  elif [[ $output != *"$words"* ]]; then
    fail "configuring with $* should have said '$words', said: $output"
  fi
}

configure() {
  local folder=$1
  shift
  cmake -S "$source/tests/install/consumer" -B "$scratch/$folder" -G "$generator" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug "$@"
}

cmake --install "$build" --config "$config" --component octavo_dev \
  --prefix "$scratch/first" >"$scratch/log" || {
  cat "$scratch/log"
  exit 1
}
mv "$scratch/first" "$prefix"

# Nothing of the build or the source folder may have been written into the package.
if leaks=$(grep -rlF -e "$build" -e "$source" "$prefix" --include='*.cmake' --include='*.pc'); then
  fail "these files name the folder they were built in: $leaks"
fi

{ configure found && cmake --build "$scratch/found"; } >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail "the consumer with find_package does not build"
}
expect_equal 'find_package' "$want" "$("$scratch/found/consumer")"

quickstart=$source/tests/examples/quickstart.cc
{ configure backend "-DCOMPONENT=core;ref_cpu" "-DQUICKSTART=$quickstart" &&
  cmake --build "$scratch/backend"; } >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail "the consumer of the reference backend does not build"
}
expect_equal 'the quick start' '120 of 125 tokens were in the cache' \
  "$("$scratch/backend/quickstart")"

refused "octavo has no component 'telepathy'" -DCOMPONENT=telepathy
refused 'version' -DVERSION=0.2
refused 'version' -DVERSION=7

pc=$(find "$prefix" -name octavo.pc -printf '%h\n')
export PKG_CONFIG_PATH=$pc
flags=$(pkg-config --cflags --libs octavo) || fail "pkg-config does not find octavo in $pc"
expect_equal 'version' "$(sed -n 's/^Version: //p' "$pc/octavo.pc")" \
  "$(pkg-config --modversion octavo)"
# pkg-config writes its answer for a shell: the blank in the prefix is escaped.
if eval "'$cxx' -std=c++20 -o '$scratch/packaged' '$source/tests/install/consumer/consumer.cc'" \
  "$flags"; then
  expect_equal 'pkg-config' "$want" "$("$scratch/packaged")"
else
  fail "the consumer with pkg-config does not build"
fi

((failures == 0)) && printf 'both consumers ran\n'
exit $((failures > 0))
