# What tools/run, tools/test, tools/bench, tools/gpu_check and tools/bootstrap share. Sourced, never
# run.
#
# All talk goes to stderr: stdout belongs to the program that is started in the end.
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)

# The status of these scripts' own failures. The program's own codes end at 4 for what a user can
# mend on the command line, so that "nothing could be built" is never taken for one of them.
readonly kCannotStart=70

say() { printf 'octavo: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit "$kCannotStart"
}

job_count() {
  local n
  n=${OCTAVO_JOBS:-$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
  printf '%s' "$n"
}

# package_lines SET: the lines of packages.txt that SET (run, test or bench) needs, without the set.
package_lines() {
  local set name
  while read -r set name; do
    if [[ $set == run || $set == "$1" ]]; then
      printf '%s\n' "$name"
    fi
  done <"$root/tools/dev/packages.txt"
}

# name_needed SET: says what SET needs, for people whose system has other package names.
name_needed() {
  local package what
  say "what is needed (Debian's name: what it is):"
  while read -r package what; do
    printf '  %-20s %s\n' "$package:" "$what" >&2
  done < <(package_lines "$1")
}

# once_per_checkout SET DIR: runs tools/bootstrap unless DIR remembers that it went well for this
# very list of packages. A start that has nothing to install asks no package manager.
once_per_checkout() {
  local stamp=$2/.packages list
  list=$(<"$root/tools/dev/packages.txt")
  if [[ -f $stamp && $(<"$stamp") == "$1 $list" ]]; then
    return
  fi
  "$root/tools/bootstrap" "$1" 9>&- || exit
  printf '%s\n' "$1 $list" >"$stamp"
}

# lock DIR: waits until no other start works in DIR. Held until unlock or exit.
lock() {
  mkdir -p -- "$1" || die "cannot make the folder $1"
  if command -v flock >/dev/null; then
    exec 9>"$1/.lock" || die "cannot write in the folder $1"
    flock 9
  fi
}
unlock() { exec 9>&-; }

# logged LOG WORDS COMMAND...: runs COMMAND with all its output in LOG. On a terminal the last line
# of LOG is shown once it takes longer than half a second. When it fails, LOG is printed.
logged() {
  local log=$1 words=$2 ticker='' status=0
  shift 2
  : >"$log" || die "cannot write $log"
  if [[ -t 2 ]]; then
    show_last_line "$log" "$words" >/dev/null 9>&- &
    ticker=$!
  fi
  "$@" >"$log" 2>&1 </dev/null 9>&- || status=$?
  if [[ -n $ticker ]]; then
    kill "$ticker" 2>/dev/null
    wait "$ticker" 2>/dev/null
    printf '\r\033[K' >&2
  fi
  if ((status != 0)); then
    cat -- "$log" >&2
    say "$words failed; the output above is in $log"
  fi
  return "$status"
}

show_last_line() {
  local line width
  width=$(tput cols 2>/dev/null || echo 80)
  while sleep 0.5; do
    line=$(tail -n 1 -- "$1")
    line="octavo: $2: $line"
    printf '\r\033[K%s' "${line:0:width-1}" >&2
  done
}

# configured DIR SET ARGS...: configures DIR unless that was done with the same ARGS. The files of a
# target are compiled a dozen at a time: most of what each would take goes into the same headers. A
# configuration of one's own compiles each by itself, as do the presets.
configured() {
  local dir=$1 set=$2 stamp=$1/.configured fresh=() generator=()
  shift 2
  if [[ -f $stamp && -f $dir/CMakeCache.txt && $(<"$stamp") == "$root unity $*" ]]; then
    return
  fi
  rm -f -- "$stamp"
  if [[ -f $dir/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    fresh=(--fresh)  # the checkout was moved or copied together with its build folder
  fi
  # Someone may have configured this folder for Make; CMake refuses to change that.
  if ((${#fresh[@]})) || [[ ! -f $dir/CMakeCache.txt ]]; then
    generator=(-G Ninja)
  fi
  if ! logged "$dir/configure.log" configuring cmake "${fresh[@]}" -S "$root" -B "$dir" \
    "${generator[@]}" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 "$@"; then
    rm -f -- "$dir/.packages"  # look again next time: something may have been uninstalled
    name_needed "$set"
    exit "$kCannotStart"
  fi
  printf '%s\n' "$root unity $*" >"$stamp"
}

# built DIR ARGS...: builds DIR; ARGS go to cmake --build.
built() {
  local dir=$1
  shift
  if ! logged "$dir/build.log" building cmake --build "$dir" --parallel "$(job_count)" "$@"; then
    rm -f -- "$dir/.packages"
    exit "$kCannotStart"
  fi
}
