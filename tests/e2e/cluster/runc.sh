#!/bin/sh
# Builds a runc that moves network interfaces (linux.netDevices), for the replay that needs one: Debian 12's is too old. Prints its path; what it
# does goes to standard error. A C compiler is needed. About half a minute the first time.
set -eu

runc=1.4.3

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
go=$("$here/../toolchain")
folder=${XDG_CACHE_HOME:-$HOME/.cache}/plughost/e2e/cluster/runc-$runc
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9

if [ ! -x "$folder/runc" ]; then
  echo "runc $runc: building" >&2
  package=github.com/opencontainers/runc
  printf '%s\n' "module plughost/tests/e2e/cluster" "go 1.26.0" "require $package v$runc" >"$folder/go.mod"
  # Without its tags it needs no libseccomp: pods here have no seccomp profile.
  (cd "$folder" && nice -n 10 "$go" build -mod=mod -p 2 -trimpath -buildvcs=false -ldflags "-s -w" -o "$folder/new" "$package")
  mv "$folder/new" "$folder/runc"
fi
echo "$folder/runc"
