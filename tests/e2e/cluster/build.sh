#!/bin/sh
# Builds what Debian 12 has not, or too old: Kubernetes' servers, containerd and runc, from the Go module proxy. Prints the
# folder with the programs; what it does goes to standard error. About six minutes on two cores the first time.
set -eu

[ $# -eq 1 ] || { echo "usage: build.sh VERSION, of Kubernetes, such as 1.37.2" >&2; exit 2; }
kubernetes=$1
containerd=2.2.9
runc=1.3.3 # Debian 12's knows no user namespaces of pods

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
go=$("$here/../toolchain")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plughost/e2e/cluster
programs=$cache/$kubernetes
mkdir -p "$programs"
exec 9>"$cache/lock"
flock 9

key=$("$go" version | cat - "$here/build.sh" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$programs/key" 2>/dev/null)" = "$key" ]; then
  echo "$programs"
  exit
fi

# build FOLDER LDFLAGS PACKAGE…: by the go.mod in the folder
build() {
  module=$1 flags=$2
  shift 2
  (cd "$module" &&
    nice -n 10 "$go" build -mod=mod -p 2 -trimpath -buildvcs=false -ldflags "-s -w $flags" -o "$programs/" "$@")
}

echo "containerd $containerd: building" >&2
folder=$cache/containerd-$containerd
mkdir -p "$folder"
package=github.com/containerd/containerd/v2
printf '%s\n' "module plughost/tests/e2e/cluster" "go 1.26.0" "require $package v$containerd" >"$folder/go.mod"
build "$folder" "-X $package/version.Version=v$containerd" \
  "$package/cmd/containerd" "$package/cmd/containerd-shim-runc-v2" "$package/cmd/ctr"

echo "runc $runc: building" >&2
folder=$cache/runc-$runc
mkdir -p "$folder"
package=github.com/opencontainers/runc
printf '%s\n' "module plughost/tests/e2e/cluster" "go 1.26.0" "require $package v$runc" >"$folder/go.mod"
build "$folder" "" -tags seccomp "$package" # sandboxes of pods have a profile

echo "Kubernetes $kubernetes: building (some minutes)" >&2
folder=$cache/kubernetes-$kubernetes
mkdir -p "$folder"
package=k8s.io/kubernetes
source=$(cd / && "$go" mod download -json "$package@v$kubernetes" |
  sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')
"$here/../go-mod" plughost/tests/e2e/cluster "$kubernetes" "$source" >"$folder/go.mod"
stamp=k8s.io/component-base/version
minor=${kubernetes#1.}
build "$folder" "-X $stamp.gitVersion=v$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}" \
  "$package/cmd/kube-apiserver" "$package/cmd/kube-controller-manager" "$package/cmd/kube-scheduler" \
  "$package/cmd/kubelet"

echo "$key" >"$programs/key"
echo "$programs"
