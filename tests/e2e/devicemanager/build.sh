#!/bin/sh
# Builds the harness against one Kubernetes version. Exit: 0 built or up to date, 1 failed, 2 used wrongly.
set -eu

usage() {
  echo "usage: build.sh [-t] VERSION OUT" >&2
  echo "  VERSION  an exact Kubernetes version, such as 1.37.2" >&2
  echo "  -t       build the self-check (smoke_test.go) instead of the harness" >&2
  exit 2
}

what=harness
if [ "${1-}" = -t ]; then
  what=smoke
  shift
fi
[ $# -eq 2 ] || usage
version=${1#v}
out=$2
case $version in
  1.*.*) ;;
  *) usage ;;
esac
minor=${version#1.}
minor=${minor%%.*}

sources=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plughost/e2e/kubernetes-$version
mkdir -p "$cache"

go=$("$sources/../toolchain" "$version")

# From 1.35 on, the device manager takes loggers and contexts as parameters; from 1.37 on, it keeps several endpoints of a
# resource.
if [ "$minor" -ge 37 ]; then
  shapes='contextual several'
elif [ "$minor" -ge 35 ]; then
  shapes='contextual single contextual_single'
else
  shapes='plain single'
fi
# The server of pod resources: before 1.27 it knows nothing of dynamic ones, and from 1.37 on it takes loggers.
if [ "$minor" -ge 37 ]; then
  tags=since_1_37
elif [ "$minor" -ge 27 ]; then
  tags=
else
  tags=before_1_27
fi

# Tests that run side by side may all ask for the same build.
exec 9>"$cache/lock"
flock 9

case $what in
  harness) skipped='*_test.go' ;;
  smoke) skipped= ;;
esac
key=$(
  cd "$sources"
  { "$go" version; cat build.sh; find . -name '*.go' ! -name "$skipped" -print0 | sort -z | xargs -0 cat; } |
    sha256sum | cut -d' ' -f1
)
binary=$cache/$what
if [ -x "$binary" ] && [ "$(cat "$binary.key" 2>/dev/null)" = "$key" ]; then
  echo "Kubernetes $version: $what is up to date"
else
  echo "Kubernetes $version: fetching"
  # Outside every module, so that no go.mod has a say in it. With -json alone, errors would not be on stderr.
  (cd / && "$go" mod download "k8s.io/kubernetes@v$version")
  kubernetes=$(cd / && "$go" mod download -json "k8s.io/kubernetes@v$version" |
    sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')

  echo "Kubernetes $version: resolving modules"
  # The link is there because Go refuses overlays on paths in its module cache.
  ln -sfn "$kubernetes" "$cache/kubernetes"
  {
    "$sources/../go-mod" plughost/tests/e2e/devicemanager "$version" "$kubernetes"
    echo "replace k8s.io/kubernetes => $cache/kubernetes"
  } >"$cache/go.mod"

  package=$cache/kubernetes/pkg/kubelet/cm/devicemanager
  for overlay in misled observed provoked $shapes; do
    echo "\"$package/plughost_$overlay.go\": \"$sources/overlay/$overlay.go\""
  done | paste -s -d , | sed 's/.*/{"Replace": {&}}/' >"$cache/overlay.json"

  set -- -mod=mod -modfile="$cache/go.mod" -overlay="$cache/overlay.json" -tags "$tags" -p 2 -trimpath -buildvcs=false -o "$binary"
  echo "Kubernetes $version: building the $what"
  rm -f "$binary.key"
  case $what in
    harness) (cd "$sources" && nice -n 15 "$go" build "$@" .) ;;
    smoke) (cd "$sources" && nice -n 15 "$go" test -c "$@" .) ;;
  esac
  echo "$key" >"$binary.key"
fi

if ! cmp -s "$binary" "$out"; then
  # A rename, since a harness that runs now must keep its program.
  cp "$binary" "$out.new"
  mv "$out.new" "$out"
  echo "Kubernetes $version: wrote $out"
fi
