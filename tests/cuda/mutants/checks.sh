# Running the tests of a family in several ways, and what each way noticed. Sourced, never run.
# shellcheck shell=bash disable=SC2154,SC2034

readonly kTimeout=600

first_match() { grep -m 1 -oE -- "$1" "$log"; }

# verdict STATUS: what the log of a run says, in few words; in bold when the bug was noticed.
verdict() {
  local what
  if (($1 == 0)); then
    printf 'passes'
  elif what=$(first_match 'SUMMARY: (Address|Thread)Sanitizer: .*'); then
    # SUMMARY: ThreadSanitizer: data race /path/to/attend.cuh:12:3 in octavo::function, or
    # (/path/to/tests+0x1234) where it finds no line.
    sed -E 's|SUMMARY: [A-Za-z]+: ||; s| in .*||; s| \(.*\+0x[0-9a-f]+\)||; s|/?[^ ]*/||
      s|.*|**&**|' <<<"$what"
  elif what=$(first_match '[^ /]+:[0-9]+:[0-9]+: runtime error: .*'); then
    sed -E 's|:[0-9]+: runtime error||; s|.*|**&**|' <<<"$what"
  elif what=$(first_match 'C\+\+ exception with description ".*'); then
    sed -E 's|C.. exception with description "||; s|"? thrown in.*||; s|;.*||; s| \[block .*||
      s|/[^ ]*/||g; s|.*|**&**|' <<<"$what"
  elif (($1 == 124)); then
    printf '**no end within %s s**' "$kTimeout"
  elif (($1 > 128)); then
    printf '**%s**' "SIG$(kill -l "$(($1 - 128))")"
  elif what=$(first_match '^\[  FAILED  \] [^ ,]+'); then
    sed -E 's!.* !!; s!(Gives?|Has|Have)The(Bits|References)[A-Za-z]*!!; s!.*!**&**!' <<<"$what"
  else
    printf '**status %s**' "$1"
  fi
}

# run_tests PROGRAM FILTER ORDER LOG: prints the verdict.
run_tests() {
  local log=$4 status=0
  MUTANTS_ORDER=$3 ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=halt_on_error=1 timeout "$kTimeout" \
    "$1" "--gtest_filter=$2" --gtest_fail_fast >"$log" 2>&1 </dev/null || status=$?
  grep -q '^\[==========\] Running [1-9]' "$log" || die "no tests ran; see $log"
  verdict "$status"
}

# orders PROGRAM FOLDER: the tests in three other orders of threads and blocks.
orders() {
  local order noticed=0 what=''
  for order in 1 2 3; do
    what=$(run_tests "$1" "$few" "$order" "$2/order$order.log") || return
    [[ $what == passes ]] || noticed=$((noticed + 1))
  done
  if ((noticed == 0)); then
    printf 'passes'
  else
    printf '**%s of 3**' "$noticed"
  fi
}

# results FOLDER all|values: the four cells of a row, of the kernels in FOLDER/tree.
results() {
  local folder=$1 build program source objects cells=''
  for build in "${kBuilds[@]}"; do
    if [[ $2 == values && $build != plain ]]; then
      cells+=' |'
      continue
    fi
    objects=()
    for source in "${sources[@]}"; do
      objects+=("$folder/${source%.cu}.o")
      compile "$build" "cuda/src/$source" "${objects[-1]}" "$folder/tree" \
        2>>"$folder/compile.log" || die "it does not compile; see $folder/compile.log"
    done
    program=$folder/tests
    link "$build" "$program" "${objects[@]}" || die "$folder does not link"
    case $build in
      plain)
        cells+="$(run_tests "$program" "$tests" 0 "$folder/plain.log") | " || return
        cells+="$(orders "$program" "$folder") |" || return
        ;;
      *) cells+=" $(run_tests "$program" "$few" 0 "$folder/$build.log") |" || return ;;
    esac
    rm -f -- "$program" "${objects[@]}" "${objects[@]/%/.d}"
  done
  printf '%s' "$cells"
}
