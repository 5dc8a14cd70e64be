#!/usr/bin/env bash
# generate.sh ROOT: writes everything that is generated from Go types, markers and schemas below ROOT.
set -euo pipefail
root=$1
gen=$(pwd)/bin/controller-gen
mkdir -p "$root/api/v1alpha1" "$root/config/crd/bases" "$root/config/rbac" "$root/docs"
"$gen" object paths=./api/v1alpha1 output:object:dir="$root/api/v1alpha1"
"$gen" crd paths=./api/v1alpha1 output:crd:dir="$root/config/crd/bases"
"$gen" rbac:roleName=atlantide-operator paths="./controllers/...;./cmd/manager/..." output:rbac:dir="$root/config/rbac"
go run ./hack/docs "$root/docs/resources.md"
