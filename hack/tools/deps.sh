#!/usr/bin/env bash
# Makes sure that PostgreSQL's server programs are here: tests and demo store state in a real one, private to the run.
set -euo pipefail

[ -z "${ATLANTIDE_STATE_DSN:-}" ] || exit 0

for dir in "${PG_BINDIR:-}" $(tr ':' ' ' <<<"$PATH") /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
  /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin; do
  if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then exit 0; fi
  # A distribution may link initdb alone into PATH; the server is beside the link's target.
  real=$(dirname "$(readlink -f "$dir/initdb" 2>/dev/null || echo /nowhere/initdb)")
  if [ -x "$real/postgres" ]; then exit 0; fi
done

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "PostgreSQL is missing: install the package 'postgresql' (Homebrew: postgresql@17), or set PG_BINDIR to the folder that holds initdb and postgres" >&2
  exit 1
fi

here=$(dirname "$0")
export DEBIAN_FRONTEND=noninteractive
quiet() { "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quiet "$here/progress.sh" "apt-get update" apt-get -qq update
quiet apt-get -qq install -y --no-install-recommends postgresql-common
# The package would start a server of its own; only the programs are wanted.
sed -i 's/^#*\s*create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
quiet apt-get -qq install -y --no-install-recommends postgresql
echo "installed PostgreSQL $(ls /usr/lib/postgresql | sort -V | tail -1)"
