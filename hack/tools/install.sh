#!/usr/bin/env bash
# install.sh NAME DIR: installs the tool at the version that versions.txt pins.
set -euo pipefail
name=$1 dir=$2
read -r _ package version < <(grep "^$name " "$(dirname "$0")/versions.txt")
mkdir -p "$dir"
GOBIN=$dir CGO_ENABLED=0 GOFLAGS=-trimpath go install "$package@$version"
touch "$dir/$name" # go install keeps the time of a cached link
