#!/usr/bin/env bash
# progress.sh TEXT COMMAND…: runs the command; one that takes longer than two seconds shows TEXT and, from time to time,
# how long it has been at work.
set -euo pipefail
text=$1
shift
# The ticker lives as long as descriptor 3 is open, so it cannot outlive this script.
exec 3> >(
  wait_for=2
  while true; do
    status=0
    read -rt "$wait_for" _ || status=$?
    [ "$status" -gt 128 ] || break
    echo "… $text (${SECONDS}s)" >&2
    wait_for=20
  done
)
"$@" 3>&-
