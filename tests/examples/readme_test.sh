#!/usr/bin/env bash
# readme_test.sh SOURCE_FOLDER: the README shows the example program's own lines. Each region of
# quickstart.cc from "// [readme] NAME" to "// [readme] end" stands in it, moved to the left margin.
set -o pipefail
example=$1/tests/examples/quickstart.cc
readme=$(<"$1/README.md") || exit 1

# The region's lines without the blanks that its first line begins with.
region() {
  awk -v name="$1" '
    $0 ~ "// \\[readme\\] end" { inside = 0 }
    inside {
      if (indent == "") { match($0, /^ */); indent = RLENGTH + 1 }
      print substr($0, indent)
    }
    $0 ~ "// \\[readme\\] " name "$" { inside = 1 }' "$example"
}

status=0
for name in step session; do
  text=$(region "$name")
  if [[ -z $text ]]; then
    printf 'quickstart.cc has no region %s\n' "$name"
    status=1
  elif [[ $readme != *"$text"* ]]; then
    printf 'README.md does not show the region %s of quickstart.cc as it is:\n%s\n' "$name" "$text"
    status=1
  fi
done
exit "$status"
