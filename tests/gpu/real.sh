#!/bin/sh
# On a machine with NVIDIA's driver: are the cards that plughost finds those of nvidia-smi, can what Allocate
# answers be opened, and does the daemon follow the cards' health for a minute?
# Usage: tests/gpu/real.sh [PLUGHOST]. Ends with 77 and 'not run' where there is no driver.
set -eu

plughost=${1:-build/dev/plughost}
if ! nvidia-smi -q -x >/dev/null 2>&1; then
  echo "not run: there is no NVIDIA driver on this machine"
  exit 77
fi

work=$(mktemp -d)
daemon=
finish() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
failed=0
fail() {
  echo "FAIL: $*"
  failed=1
}

cat >"$work/gpu.yaml" <<YAML
kubelet: {directory: $work}
include: []
resources:
- name: nvidia.com/gpu
  gpu: {vendor: nvidia, passDeviceSpecs: true}
YAML

# Discovery: the same UUIDs, each with its minor number, its PCI address and its memory.
nvidia-smi -q -x >"$work/smi.xml"
"$plughost" discover --config "$work/gpu.yaml" -o json >"$work/found.json"
nvidia-smi --query-gpu=uuid --format=csv,noheader | sort >"$work/expected"
sed -n 's/.*"id": "\(GPU-[^"]*\)".*/\1/p' "$work/found.json" | sort >"$work/ids"
cmp -s "$work/expected" "$work/ids" || fail "the ids differ from nvidia-smi's: $(diff "$work/expected" "$work/ids")"
for minor in $(sed -n 's/.*<minor_number>\(.*\)<\/minor_number>.*/\1/p' "$work/smi.xml"); do
  grep -q "\"minor\": \"$minor\"" "$work/found.json" || fail "no card has the minor number $minor"
done
for address in $(sed -n 's/.*<pci_bus_id>0000\(.*\)<\/pci_bus_id>.*/\1/p' "$work/smi.xml" | tr 'A-F' 'a-f'); do
  grep -q "\"pci\": \"$address\"" "$work/found.json" || fail "no card has the PCI address $address"
done
nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | sort -n >"$work/expected"
sed -n 's/.*"memory": "\([0-9]*\)".*/\1/p' "$work/found.json" | sort -n | paste "$work/expected" - >"$work/memories"
while read -r memory found; do
  # NVML counts what the driver reserves, nvidia-smi may not.
  [ "$((${found:-0} * 100))" -ge "$((memory * 95))" ] || fail "a card has ${found:-no} MiB, nvidia-smi says $memory"
done <"$work/memories"

# Allocate: each node is a character device that can be opened.
for id in $(cat "$work/ids"); do
  "$plughost" simulate --config "$work/gpu.yaml" "nvidia.com/gpu=$id" -o json >"$work/answer.json"
  grep -q "\"NVIDIA_VISIBLE_DEVICES\": \"$id\"" "$work/answer.json" || fail "the variable of $id is another"
  for node in $(sed -n 's/.*"hostPath": "\([^"]*\)".*/\1/p' "$work/answer.json"); do
    [ -c "$node" ] || fail "$node is no character device"
    (exec 3<>"$node") 2>/dev/null || fail "$node cannot be opened"
  done
done

# Health: a minute in which nothing is said of the cards.
"$plughost" run --config "$work/gpu.yaml" 2>"$work/log" &
daemon=$!
left=60
while [ "$left" -gt 0 ] && kill -0 "$daemon" 2>/dev/null; do
  sleep 1
  left=$((left - 1))
done
kill -0 "$daemon" 2>/dev/null || fail "the daemon ended: $(tail -n 3 "$work/log")"
if grep -E 'Unhealthy|cannot look|takes too long' "$work/log"; then fail "the cards were not well for a minute"; fi

[ "$failed" -eq 0 ] && echo "passed with $(wc -l <"$work/ids") cards"
exit "$failed"
