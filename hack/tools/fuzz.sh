#!/usr/bin/env bash
# fuzz.sh TIME: runs every fuzz target of the module for TIME, one after another; ends at the first that finds something.
set -euo pipefail
time=$1
count=0
while IFS=: read -r file line; do
  name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
  echo "== $name in ./$(dirname "$file") for $time"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$(dirname "$file")"
  count=$((count + 1))
done < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -E '^func Fuzz' /dev/null)
echo "fuzzed $count targets, nothing found"
