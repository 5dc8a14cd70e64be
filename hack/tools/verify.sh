#!/usr/bin/env bash
# Fails when a generated file, the formatting or go.mod is not what the sources say; names each and how to mend it.
set -euo pipefail
failed=0
complain() { echo "verify: $1" >&2; failed=1; }

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
hack/tools/generate.sh "$fresh"
while read -r file; do
  diff -u "$file" "$fresh/$file" >&2 || complain "$file is not current; run: make generate"
done < <(cd "$fresh" && find . -type f | sed 's|^\./||' | sort)

unformatted=$(find . -name '*.go' -not -path './.cache/*' -not -path './bin/*' -not -path '*/testdata/*' -print0 | xargs -0 gofmt -l)
[ -z "$unformatted" ] || complain "not formatted; run gofmt -w on: $(tr '\n' ' ' <<<"$unformatted")"

go mod tidy -diff >&2 || complain "go.mod or go.sum is not tidy; run: go mod tidy"

go vet -tags long ./hack/e2e ./controllers/stack || complain "the tests behind the build tag long do not pass go vet"

[ "$failed" = 0 ] && echo "verify: current"
exit "$failed"
