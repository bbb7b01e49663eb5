#!/bin/sh
# Builds the harness for each VERSION, by default for those that plughost is tested with, and runs its self-check.
set -eu

[ $# -gt 0 ] || set -- 1.38.0-beta.0 1.37.2 1.36.3 1.35.4
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
trap 'exit 1' HUP INT TERM

for version; do
  "$here/build.sh" "$version" "$programs/harness"
  "$here/build.sh" -t "$version" "$programs/smoke"
  "$programs/smoke" -harness "$programs/harness" -test.v
done
