#!/usr/bin/env bash
# scripts_test.sh SOURCE_FOLDER [CASE]: runs the CASE (all of them without one) of tools/run,
# tools/test, tools/bootstrap, tools/gpu_check and .ci/run in a made-up checkout.
#
# Nothing is built or installed: the checkout holds the scripts and a PATH of stand-ins that write
# down how they were called. dpkg-query knows the packages listed in $world/installed; apt-get adds
# to that list; cmake makes a program that prints its arguments.
#
# The cases are called by name; sed's and awk's text is not for the shell.
# shellcheck disable=SC2317,SC2016
set -o pipefail

source=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
failures=0

fail() {
  printf 'FAILED: %s\n' "$*"
  failures=$((failures + 1))
}
expect_status() { (($1 == $2)) || fail "status $2 in place of $1; output: $(<"$world/output")"; }
expect_said() {
  [[ $(<"$world/output") == *"$1"* ]] || fail "not said: '$1' in: $(<"$world/output")"
}
expect_silent() { [[ ! -s $world/talk ]] || fail "should say nothing, said: $(<"$world/talk")"; }
expect_call() { grep -qF -- "$1" "$world/calls" || fail "no call '$1' in: $(<"$world/calls")"; }
expect_no_call() { ! grep -qF -- "$1" "$world/calls" || fail "a call '$1': $(<"$world/calls")"; }
calls_of() { grep -c -- "^$1 " "$world/calls"; }

# stand_in NAME: an executable of that name, first in PATH; its text comes from stdin.
stand_in() {
  {
    printf '#!/bin/bash\nworld=%q\n' "$world"
    cat
  } >"$world/bin/$1"
  chmod +x "$world/bin/$1"
}

# A checkout with a blank in its path, and everything installed.
new_world() {
  world="$scratch/world $RANDOM$RANDOM"
  checkout="$world/check out"
  mkdir -p "$world/bin" "$checkout"
  cp -r "$source/tools" "$source/.ci" "$checkout/"
  : >"$world/calls"
  sed -n 's/^\(run\|test\|bench\) \([^ ]*\) .*/\2/p' "$source/tools/dev/packages.txt" \
    >"$world/installed"
  stand_in dpkg-query <<'EOF'
echo "dpkg-query $*" >>"$world/calls"
while read -r package; do echo "installed $package"; done <"$world/installed"
echo "config-files removed-one"
EOF
  stand_in apt-get <<'EOF'
echo "apt-get $* frontend=$DEBIAN_FRONTEND" >>"$world/calls"
echo "apt chatter"
[[ -e $world/broken-$(printf '%s\n' "$@" | grep -xE 'update|install') ]] && exit 100
if [[ " $* " == *" install "* ]]; then
  for word; do [[ $word == -* || $word == install ]] || echo "$word" >>"$world/installed"; done
fi
exit 0
EOF
  stand_in cmake <<'EOF'
echo "cmake $*" >>"$world/calls"
if [[ -e $world/broken-build ]]; then echo "error: no such thing"; exit 1; fi
if [[ $1 == --build ]]; then
  [[ $4 == 7 ]] || { echo "not built with OCTAVO_JOBS: $4"; exit 1; }
  printf '#!/bin/bash\nprintf "ran in %%s with" "$PWD"; printf " [%%s]" "$@"; echo; exit 3\n' \
    >"$2/octavo"
  chmod +x "$2/octavo"
else
  while (($#)); do
    case $1 in -S) from=$2 ;; -B) to=$2 ;; esac
    shift
  done
  mkdir -p "$to"
  printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\n' "$from" >"$to/CMakeCache.txt"
fi
EOF
  stand_in ctest <<'EOF'
echo "ctest $*" >>"$world/calls"
while (($#)); do [[ $1 == -O ]] && log=$2; shift; done
if [[ -e $world/failing ]]; then
  printf '50%% tests passed, 1 tests failed out of 2\n\nTotal Test time = 1 sec\n' | tee "$log"
  exit 8
fi
printf '100%% tests passed, 0 tests failed out of 2\n\nTotal Test time = 1 sec\n' | tee "$log"
EOF
}

# in_world COMMAND...: runs COMMAND with the stand-ins; stdout and stderr in $world/output, stderr
# also in $world/talk. The status is COMMAND's.
in_world() {
  local status=0
  env -u DEBIAN_FRONTEND -u RC_PARAMS -u CUDA_VISIBLE_DEVICES OCTAVO_JOBS=7 \
    PATH="$world/bin:$PATH" "$@" >"$world/data" 2>"$world/talk" </dev/null || status=$?
  cat "$world/data" "$world/talk" >"$world/output"
  return "$status"
}

uninstall() {
  grep -vxF -- "$1" "$world/installed" >"$world/rest"
  mv "$world/rest" "$world/installed"
}

case_passes_arguments_and_status() {
  cd "$world" || exit
  in_world "$checkout/tools/run" replay --trace 'a file' '' '*' --blocks=1
  expect_status 3 $?
  expect_said "ran in $world with [replay] [--trace] [a file] [] [*] [--blocks=1]"
  [[ $(<"$world/data") == "ran in"* ]] || fail "talk on stdout: $(<"$world/data")"
}

case_works_through_a_link_from_anywhere() {
  mkdir "$world/else where"
  ln -s "$checkout/tools/run" "$world/else where/octavo"
  cd "$world/else where" || exit
  in_world ./octavo trace
  expect_status 3 $?
  expect_said "ran in $world/else where with [trace]"
  expect_call "-S $checkout -B $checkout/build"
}

case_second_start_probes_and_configures_nothing() {
  in_world "$checkout/tools/run" a
  : >"$world/calls"
  in_world "$checkout/tools/run" b
  expect_status 3 $?
  expect_silent
  expect_no_call dpkg-query
  expect_no_call 'cmake -S'
  expect_call "cmake --build $checkout/build"
}

case_installs_only_what_is_missing() {
  uninstall libcli11-dev
  uninstall libgtest-dev # not needed to run the program
  stand_in sudo <<'EOF'
echo "sudo $*" >>"$world/calls"
[[ $1 == -n ]] && shift
exec "$@"
EOF
  in_world "$checkout/tools/run" a
  expect_status 3 $?
  expect_call 'update frontend=noninteractive'
  expect_call 'install -y --no-install-recommends libcli11-dev frontend=noninteractive'
  expect_said 'installing libcli11-dev'
  [[ $(<"$world/talk") != *'apt chatter'* ]] || fail 'apt-get chatters'
  if ((EUID == 0)); then
    expect_no_call sudo
  else
    expect_call 'sudo -n env DEBIAN_FRONTEND=noninteractive apt-get'
  fi
}

case_installs_nothing_when_all_is_there() {
  in_world "$checkout/tools/bootstrap" test
  expect_status 0 $?
  expect_silent
  expect_no_call apt-get
}

case_a_removed_package_counts_as_missing() {
  uninstall cmake
  stand_in dpkg-query <<'EOF'
while read -r package; do echo "installed $package"; done <"$world/installed"
echo "config-files cmake"
EOF
  as_root "$checkout/tools/bootstrap" run
  expect_status 0 $?
  expect_call 'install -y --no-install-recommends cmake'
}

# Runs as in_world does, with root's rights or what looks like them.
as_root() {
  stand_in sudo <<'EOF'
[[ $1 == -n ]] && shift
exec "$@"
EOF
  in_world "$@"
}

case_a_failing_update_does_not_keep_from_installing() {
  uninstall g++
  touch "$world/broken-update"
  as_root "$checkout/tools/bootstrap" run
  expect_status 0 $?
  expect_call 'install -y --no-install-recommends g++'
}

case_a_failing_install_names_the_packages() {
  uninstall g++
  uninstall libxxhash-dev
  touch "$world/broken-install"
  as_root "$checkout/tools/run" a
  expect_status 70 $?
  expect_said 'could not install g++ libxxhash-dev'
  expect_said 'apt chatter'
  expect_no_call 'cmake -'
}

case_without_rights_it_says_what_to_install() {
  uninstall g++
  # bash lets nobody set EUID; a copy of the script with the question answered does.
  sed -i 's/\${EUID:-\$(id -u)} != 0/1/; s/command -v sudo/false/' "$checkout/tools/bootstrap"
  in_world "$checkout/tools/run" a
  expect_status 70 $?
  expect_said 'missing: g++'
  expect_said 'apt-get install g++'
  expect_no_call apt-get
}

# PATH without dpkg-query and apt-get, with the commands that the scripts use and those in $@.
foreign_system() {
  local tool
  mkdir "$world/foreign"
  for tool in bash env cat dirname readlink mkdir rm chmod grep tail printf flock sed "$@"; do
    [[ -e $world/bin/$tool ]] && cp "$world/bin/$tool" "$world/foreign/" && continue
    ln -s "$(command -v "$tool")" "$world/foreign/$tool" 2>/dev/null
  done
}

case_on_other_systems_it_says_what_to_install() {
  foreign_system cmake
  PATH=$world/foreign "$world/foreign/env" -u CXX "$checkout/tools/run" a >"$world/output" 2>&1
  expect_status 70 $?
  expect_said "'ninja' was not found"
  expect_said 'CLI11 2.1 or newer'
  [[ $(<"$world/output") != *GoogleTest* ]] || fail 'tools/run needs no GoogleTest'
}

case_on_other_systems_it_builds_with_what_is_there() {
  foreign_system cmake
  ln -s /bin/true "$world/foreign/ninja"
  ln -s /bin/true "$world/foreign/c++"
  PATH=$world/foreign OCTAVO_JOBS=7 "$world/foreign/env" -u CXX "$checkout/tools/run" a \
    >"$world/output" 2>&1
  expect_status 3 $?
  expect_said 'with [a]'
}

case_a_failing_build_shows_its_log() {
  touch "$world/broken-build"
  in_world "$checkout/tools/run" a
  expect_status 70 $?
  expect_said 'error: no such thing'
  expect_said 'what is needed'
  [[ ! -s $world/data ]] || fail "talk on stdout: $(<"$world/data")"
  rm "$world/broken-build"
  in_world "$checkout/tools/run" a # and the next start tries everything again
  expect_status 3 $?
  (($(calls_of dpkg-query) == 2)) || fail 'the packages were not looked for again'
}

case_a_moved_checkout_is_configured_afresh() {
  in_world "$checkout/tools/run" a
  mv "$checkout" "$world/moved"
  in_world "$world/moved/tools/run" a
  expect_status 3 $?
  expect_call "cmake --fresh -S $world/moved"
}

case_a_changed_list_of_packages_is_looked_at() {
  in_world "$checkout/tools/run" a
  echo 'run libnew-dev something new' >>"$checkout/tools/dev/packages.txt"
  as_root "$checkout/tools/run" a
  expect_call 'install -y --no-install-recommends libnew-dev'
}

case_test_ends_with_the_closing_line() {
  in_world "$checkout/tools/test" -R 'some thing'
  expect_status 0 $?
  [[ $(tail -n 1 "$world/data") == '100% tests passed, 0 tests failed out of 2' ]] ||
    fail "closing line: $(tail -n 1 "$world/data")"
  expect_call '-DOCTAVO_WERROR=ON'
  expect_call '--output-on-failure --no-tests=error -j 7'
  expect_call '-R some thing'
}

case_test_fails_with_ctest() {
  touch "$world/failing"
  in_world "$checkout/.ci/run"
  expect_status 8 $?
  [[ $(tail -n 1 "$world/data") == '50% tests passed, 1 tests failed out of 2' ]] ||
    fail "closing line: $(tail -n 1 "$world/data")"
}

case_test_fails_when_it_cannot_build() {
  touch "$world/broken-build"
  in_world "$checkout/.ci/run"
  expect_status 70 $?
  expect_no_call ctest
}

# A machine with a GPU: "NAME, COMPUTE CAPABILITY". Its programs write down how they were called; a
# program whose name is in $world/broken fails.
gpu_machine() {
  mkdir "$checkout/traces"
  : >"$checkout/traces/one.jsonl"
  : >"$checkout/traces/two.jsonl"
  : >"$world/broken"
  printf '%s\n' "$1" >"$world/gpu"
  stand_in nvcc </dev/null
  stand_in nvidia-smi <<'EOF'
[[ "$*" == '-i 0 --query-gpu=name,compute_cap --format=csv,noheader' ]] && cat "$world/gpu"
EOF
  stand_in git <<'EOF'
case "$*" in
  *rev-parse*) echo 0123456789ab ;;
  *status*) cat "$world/changes" 2>/dev/null ;;
esac
EOF
  stand_in program <<'EOF'
echo "${0##*/} $*" >>"$world/calls"
grep -qxF -- "${0##*/}" "$world/broken" && exit 5
[[ $0 == */gpu_bandwidth ]] && echo "figures of $2" >"$1"
exit 0
EOF
  cp "$world/bin/program" "$world/bin/compute-sanitizer"
  stand_in cmake <<'EOF'
echo "cmake $*" >>"$world/calls"
if [[ $1 == --build ]]; then
  mkdir -p "$2/tests/bench/gpu" "$2/tests/cuda/gpu"
  cp "$world/bin/program" "$2/octavo"
  cp "$world/bin/program" "$2/tests/bench/gpu/gpu_bandwidth"
fi
EOF
}

case_gpu_check_needs_nvcc() {
  sed -i "s,/usr/local/cuda,$world/nowhere,g" "$checkout/tools/gpu_check"
  foreign_system cmake
  PATH=$world/foreign "$world/foreign/env" -u CUDA_PATH -u CUDA_HOME "$checkout/tools/gpu_check" \
    >"$world/output" 2>&1
  expect_status 70 $?
  expect_said 'no nvcc'
  [[ ! -e $checkout/build ]] || fail 'it began to build'
}

case_gpu_check_needs_a_gpu() {
  stand_in nvcc </dev/null
  stand_in nvidia-smi <<'EOF'
echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
exit 9
EOF
  in_world "$checkout/tools/gpu_check"
  expect_status 70 $?
  expect_said 'no GPU'
  expect_said 'nothing was tested'
  [[ ! -e $checkout/build ]] || fail 'it began to build'
}

case_gpu_check_refuses_what_the_kernels_do_not_run_on() {
  gpu_machine 'Tesla V100-SXM2-16GB, 7.0'
  in_world "$checkout/tools/gpu_check"
  expect_status 70 $?
  expect_said 'Tesla V100-SXM2-16GB has compute capability 7.0'
  in_world "$checkout/tools/gpu_check" --fast
  expect_status 70 $?
  expect_said "no arguments, not '--fast'"
}

case_gpu_check_tests_and_then_measures() {
  gpu_machine 'NVIDIA H200, 9.0'
  in_world "$checkout/tools/gpu_check"
  expect_status 0 $?
  expect_call '-DOCTAVO_GPU_TESTS=ON'
  expect_call '-DOCTAVO_CUDA_ARCHITECTURES=90a-real'
  expect_call "-DCMAKE_CUDA_COMPILER=$world/bin/nvcc"
  expect_call '-L ^gpu$'
  expect_call "octavo check --trace $checkout/traces/one.jsonl --device ref,cuda"
  expect_call "octavo check --trace $checkout/traces/two.jsonl --device ref,cuda"
  expect_call 'compute-sanitizer --tool memcheck'
  expect_call 'compute-sanitizer --tool racecheck'
  [[ $(cat "$checkout"/cuda/results/*) == 'figures of 0123456789ab' ]] || fail 'no figures'
  [[ -e $checkout/cuda/results/nvidia-h200-0123456789ab.json ]] ||
    fail "another name: $(ls "$checkout/cuda/results")"
}

case_gpu_check_names_changed_sources() {
  gpu_machine 'NVIDIA A100-SXM4-80GB, 8.0'
  echo ' M cuda/src/append.cu' >"$world/changes"
  in_world "$checkout/tools/gpu_check"
  expect_status 0 $?
  expect_call '-DOCTAVO_CUDA_ARCHITECTURES=80-real'
  [[ -e $checkout/cuda/results/nvidia-a100-sxm4-80gb-0123456789ab-dirty.json ]] ||
    fail "another name: $(ls "$checkout/cuda/results")"
}

case_gpu_check_measures_nothing_that_is_wrong() {
  gpu_machine 'NVIDIA H200, 9.0'
  touch "$world/failing" # ctest
  in_world "$checkout/tools/gpu_check"
  expect_status 1 $?
  expect_said "the kernels' tests (status 8)"
  expect_call 'compute-sanitizer --tool racecheck' # and yet everything is looked at
  expect_no_call 'gpu_bandwidth /'
  rm "$world/failing"
  local program
  for program in octavo compute-sanitizer; do
    echo "$program" >"$world/broken"
    in_world "$checkout/tools/gpu_check"
    expect_status 1 $?
    expect_said '(status 5)'
    expect_no_call 'gpu_bandwidth /'
  done
}

case_gpu_check_leaves_no_half_a_file() {
  gpu_machine 'NVIDIA H200, 9.0'
  echo gpu_bandwidth >"$world/broken"
  in_world "$checkout/tools/gpu_check"
  expect_status 1 $?
  expect_said 'benchmarks (status 5)'
  [[ -z $(find "$checkout/cuda" -name '*.json') ]] || fail 'a file of a run that failed'
}

case_gpu_check_says_what_it_did_not_look_at() {
  gpu_machine 'NVIDIA H200, 9.0'
  rm "$world/bin/compute-sanitizer"
  foreign_system cmake nvcc nvidia-smi git ctest cp tee tr mv
  ln -s /bin/true "$world/foreign/ninja"
  ln -s /bin/true "$world/foreign/c++"
  PATH=$world/foreign OCTAVO_JOBS=7 "$world/foreign/env" -u CXX -u CUDA_VISIBLE_DEVICES \
    "$checkout/tools/gpu_check" >"$world/output" 2>&1
  expect_status 0 $?
  expect_said 'no compute-sanitizer'
}

cases=$(declare -F | sed -n 's/^declare -f case_//p')
for name in ${2:-$cases}; do
  before=$failures
  new_world
  "case_$name"
  ((failures == before)) && printf 'ok: %s\n' "$name"
done
exit $((failures > 0))
