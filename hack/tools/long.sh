#!/usr/bin/env bash
# long.sh FUZZTIME: what is too slow for every run: properties with many more examples, the tests behind the build tag
# "long", the race detector, long fuzzing.
set -euo pipefail

properties=$(go list -f '{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$.ImportPath}}
{{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$.ImportPath}}
{{end}}{{end}}' ./... | sort -u | grep . || true)
if [ -n "$properties" ]; then
  echo "== properties, 10,000 examples each"
  # shellcheck disable=SC2086 # a list of packages
  go test -count=1 -timeout 60m $properties -args -rapid.checks=10000
fi

long=$({ git grep -l '^//go:build long$' -- '*_test.go' || true; } | xargs -r -n1 dirname | sed 's|^|./|' | sort -u)
if [ -n "$long" ]; then
  echo "== packages with tests that are only long"
  # shellcheck disable=SC2086 # a list of packages
  go test -tags long -count=1 -timeout 60m $long
fi

if command -v cc >/dev/null; then
  echo "== race detector"
  CGO_ENABLED=1 go test -race -timeout 60m ./...
else
  echo "== race detector left out: it needs a C compiler (cc)"
fi

"$(dirname "$0")/fuzz.sh" "${1:-5m}"
