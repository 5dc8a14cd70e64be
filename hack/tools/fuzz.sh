#!/usr/bin/env bash
# fuzz.sh TIME [FOLDER:TARGET…]: runs fuzz targets, all of the module or those named, for TIME each, one after another.
# Its last line counts them. FUZZPROCS is how many inputs are tried at once; all processors by default.
set -euo pipefail
time=$1
shift
targets=("$@")
if [ $# -eq 0 ]; then
  mapfile -t targets < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -oE '^func Fuzz[A-Za-z0-9_]*' /dev/null |
    sed -E 's|^(.*)/[^/]*:func |./\1:|')
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# out_of_time: the run failed with nothing but the end of its time, which go test now and then takes for an error when it
# comes while a worker is busy; a finding names its input.
out_of_time() { grep -qx '    context deadline exceeded' "$said" && ! grep -qE 'Failing input|panic|_test\.go:|hung or terminated' "$said"; }
passed=0 failed=0
for target in "${targets[@]}"; do
  echo "fuzzing ${target#*:} of ${target%%:*} for $time"
  if go test -run '^$' -fuzz "^${target#*:}\$" -fuzztime "$time" -fuzzminimizetime 5s -parallel "${FUZZPROCS:-$(getconf _NPROCESSORS_ONLN)}" "${target%%:*}" 2>&1 | tee "$said" || out_of_time; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
