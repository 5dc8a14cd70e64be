#!/usr/bin/env bash
# Builds the control plane into .cache/devcluster/bin, always with the same flags: another flag would miss the build cache and cost ten minutes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../.cache/devcluster/bin}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here"
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
major=${version#v}; minor=${major#*.}; major=${major%%.*}; minor=${minor%%.*}
flags="-s -w"
for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags="$flags -X $pkg.gitVersion=$version -X $pkg.gitMajor=$major -X $pkg.gitMinor=$minor -X $pkg.gitTreeState=archive"
  flags="$flags -X $pkg.gitCommit=0000000000000000000000000000000000000000 -X $pkg.buildDate=1970-01-01T00:00:00Z"
done
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$out/devcluster" .
for name in etcd kube-apiserver kube-controller-manager kubectl; do
  ln -sf devcluster "$out/$name"
done
