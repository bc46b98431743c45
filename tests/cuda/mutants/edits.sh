# Edits of the copied kernels: a file of `bugs` is a list of
#
#     bug NUMBER TITLE [values]
#     edit FILE <<'EDIT'      (FILE of the cuda folder; old text, a line of ====, new text)
#
# `values`: a bug of arithmetic alone, on which the sanitizers are not tried. Sourced, never run.
# shellcheck shell=bash disable=SC2154,SC2317

# replace FILE: the old text of stdin, which must stand in FILE exactly once, becomes the new one.
replace() {
  local LC_ALL=C text edit old new head rest
  edit=$(cat)$'\n'
  old=${edit%%$'\n====\n'*}
  new=${edit#*$'\n====\n'}
  new=${new%$'\n'}
  [[ $edit == ?*$'\n====\n'* ]] || die "an edit of $1 is not OLD, ====, NEW: $edit"
  text=$(cat -- "$1"; printf x) || die "cannot read $1"
  text=${text%x}
  head=${text%%"$old"*}
  rest=${text:${#head}+${#old}}
  [[ $head != "$text" ]] || die "$1 has no such text; the list of bugs is to follow: $old"
  [[ $rest != *"$old"* ]] || die "$1 has this text more than once: $old"
  printf '%s%s%s' "$head" "$new" "$rest" >"$1" || die "cannot write $1"
}

# all_bugs: name, title and checks (all or values), separated by tabs, one bug a line.
all_bugs() {
  local file prefix
  bug() { printf '%s.%s\t%s\t%s\n' "$prefix" "$1" "$2" "${3:-all}"; }
  edit() { :; }
  for file in "$here"/bugs/*.sh; do
    prefix=$(basename -- "$file" .sh)
    # shellcheck disable=SC1090
    source "$file"
  done
}

# plant_bug NAME TREE: the files that it changed are in `edited` then.
plant_bug() {
  local number=${1##*.} tree=$2 current='' edits=0
  edited=()
  bug() { current=$1; }
  edit() {
    if [[ $current == "$number" ]]; then
      replace "$tree/cuda/$1"
      edited+=("$1")
      edits=$((edits + 1))
    fi
  }
  # shellcheck disable=SC1090
  source "$here/bugs/${1%.*}.sh"
  ((edits > 0)) || die "$1 has no edit"
}

# apply_all FOLDER: plants each bug in a copy that has no other. FOLDER is made anew.
apply_all() {
  local tree=$1 name file edited bugs=0
  name=$(all_bugs | cut -f1 | sort | uniq -d)
  [[ -z $name ]] || die "two bugs are named ${name//$'\n'/ }"
  rm -rf -- "$tree"
  mkdir -p -- "$tree"
  cp -r -- "$root/cuda" "$tree/cuda" || die "cannot copy the kernels to $tree"
  prepare_tree "$tree"
  cp -r -- "$tree/cuda" "$tree/right" || die "cannot copy the kernels within $tree"
  while read -r name; do
    plant_bug "$name" "$tree"
    for file in "${edited[@]}"; do
      cp -- "$tree/right/$file" "$tree/cuda/$file"
    done
    bugs=$((bugs + 1))
  done < <(all_bugs | cut -f1)
  rm -rf -- "$tree"
  say "$bugs bugs can be planted"
}
