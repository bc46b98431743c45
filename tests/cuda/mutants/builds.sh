# What is compiled, once for each way to check: `plain`, `address` (AddressSanitizer and the bounds
# and alignment checks of UndefinedBehaviorSanitizer) and `thread`. Sourced, never run.
# shellcheck shell=bash disable=SC2154

readonly kBuilds=(plain address thread)

# In sanitizer=(...): the flags of a build.
sanitizer_of() {
  case $1 in
    address) sanitizer=('-fsanitize=address,bounds,alignment' -fno-sanitize-recover=all) ;;
    thread) sanitizer=(-fsanitize=thread) ;;
    *) sanitizer=() ;;
  esac
}

# compile BUILD SOURCE OBJECT TREE: what lies in `cuda` is taken from TREE, the rest from here.
compile() {
  local sanitizer from=$root
  sanitizer_of "$1"
  if [[ $2 == cuda/* ]]; then
    from=$4
  fi
  "${CXX:-g++}" -std=c++20 -O1 -g1 -DNDEBUG -D_GLIBCXX_ASSERTIONS -ffp-contract=off \
    -fno-omit-frame-pointer -Wno-unknown-pragmas "${sanitizer[@]}" \
    -I"$4" -I"$4/cuda" -I"$4/cuda/src" -I"$4/cuda/include" -I"$root" -I"$root/core/include" \
    -I"$root/ref_cpu/include" -I"$root/ref_cpu/src" -I"$root/tests/ref_cpu/ops" \
    -MMD -MF "$3.d" -x c++ -c "$from/$2" -o "$3.part" && mv -- "$3.part" "$3"
}

# link BUILD PROGRAM OBJECT...: OBJECTs, the emulation, and what no sanitizer needs to see: the
# other kernels and the tests. Of an inline function that several of them define the first is taken.
link() {
  local build=$1 program=$2 object sanitizer others=()
  shift 2
  for object in "$right"/kernels/*.o; do
    if [[ " ${*##*/} " != *" ${object##*/} "* ]]; then
      others+=("$object")
    fi
  done
  sanitizer_of "$build"
  "${CXX:-g++}" "${sanitizer[@]}" "$@" "$right/$build"/*.o "${others[@]}" "$right"/tests/*.o \
    "$work/libraries/ref_cpu/liboctavo_ref_cpu.a" "$work/libraries/core/liboctavo_core.a" \
    -lgtest_main -lgtest -pthread -o "$program"
}

# in_parallel: runs each line of stdin as a command, as many at a time as there are cores.
in_parallel() {
  local line failed=0 running=0
  while IFS= read -r line; do
    if ((running == $(job_count))); then
      wait -n || failed=1
      running=$((running - 1))
    fi
    eval "$line" </dev/null 9>&- &
    running=$((running + 1))
  done
  while ((running > 0)); do
    wait -n || failed=1
    running=$((running - 1))
  done
  return "$failed"
}

# compile_stale BUILD FOLDER SOURCE...: lines for in_parallel: what was never compiled, and what is
# older than a file that it was made of.
compile_stale() {
  local build=$1 folder=$2 source object
  shift 2
  for source; do
    object=$folder/$(basename -- "${source%.*}").o
    if [[ ! -f $object.d ]] || stale "$object"; then
      printf 'compile %q %q %q %q\n' "$build" "$source" "$object" "$right/tree"
    fi
  done
}

stale() {
  local files file
  read -r -d '' -a files < <(sed 's/^[^:]*://; s/\\$//' "$1.d")
  for file in "${files[@]}" "$here/tree.sh"; do
    [[ $file -nt $1 || ! -e $file ]] && return
  done
  return 1
}

# Everything that has no bug. What is copied keeps its age.
build_right() {
  local build
  configured "$work/libraries" test -DCMAKE_BUILD_TYPE=Release -DOCTAVO_TESTS=OFF \
    -DOCTAVO_TOOLS=OFF -DOCTAVO_CUDA=OFF
  built "$work/libraries" --target octavo_core octavo_ref_cpu
  rm -rf -- "$right/tree"
  mkdir -p -- "$right"/{kernels,tests,tree}
  cp -rp -- "$root/cuda" "$right/tree/cuda" || return
  prepare_tree "$right/tree"
  {
    compile_stale plain "$right/tests" "${kTests[@]}"
    compile_stale plain "$right/kernels" "${kKernels[@]/#/cuda/src/}"
    for build in "${kBuilds[@]}"; do
      mkdir -p -- "$right/$build"
      compile_stale "$build" "$right/$build" "${kEmulation[@]/#/cuda/emulation/}"
    done
  } >"$work/commands"
  in_parallel <"$work/commands"
}
