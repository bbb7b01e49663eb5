"""A replay of docs/recipes.md: three of its entries, from nothing to a pod, by the commands that the page names."""

import json
import pathlib
import re
import sys

import images
import pods
from facts import NotShown, advertised, expect

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "docs"))

import recipes_test  # noqa: E402

# The page's pods have no network and an image of this cluster.
SPEC = """spec:
  hostNetwork: true
  restartPolicy: Never
  dnsPolicy: None
  dnsConfig: {nameservers: [192.0.2.1]}
"""


def pod_of(text, script):
    """The page's pod, whose container runs the script with the page's arguments and then waits."""
    name = re.search(r"metadata: \{name: (\S+)\}", text).group(1)
    command = ["sh", "-ec", f"{script}; echo '{pods.SHOWN}'; trap exit TERM; sleep infinity & wait", "main"]
    text, images_found = re.subn(r"image: \S+", f"image: {images.NAME}\n    imagePullPolicy: Never\n    command: {json.dumps(command)}", text)
    text, specs = re.subn(r"^spec:\n", SPEC, text, flags=re.M)
    expect((images_found, specs) == (1, 1), f"the pod is not as expected: {text}")
    return name, text


def recipes(cluster):
    """Three recipes of docs/recipes.md from nothing: a file, check, discover, reload, and the page's pod opens what it promises"""
    if not pathlib.Path("/dev/kvm").exists():
        raise NotShown("this machine has no /dev/kvm")
    node = cluster.node_a
    licences, programs = node.fresh_folder(), node.fresh_folder()
    (licences / "red.lic").write_text("one seat\n")
    (licences / "read.me").touch()
    program = programs / "list-slots"
    program.write_text('#!/bin/sh\n[ "$1" = --json ] && echo \'{"devices": [{"id": "slot-1"}]}\'\n')
    program.chmod(0o755)
    # The recipe, where its files are here, the resource and its count as the API server writes it, the pod's script, and what it writes.
    shown = [
        ("kvm for everybody", {}, "kvm", "1k", "test -c /dev/kvm; head -c 0 /dev/kvm && echo opened", "opened"),
        ("A directory of licence files", {"/etc/licences": licences}, "licence", 1, 'cat "$2"/*', "one seat"),
        ("A program of your own", {"/usr/local/bin/list-slots": program}, "slot", 1, "echo $SLOT", "slot-1"),
    ]
    entries = node.folder / "plugins.d"
    entries.mkdir()
    with node.plughost("resources: []\n") as plughost:
        plughost.wait_for_line("plughost ", 10)
        for heading, places, resource, count, script, wanted in shown:
            entry, text = recipes_test.recipes()[heading]
            for place, here in places.items():
                expect(place in entry, f"{heading}: there is no {place}")
                entry = entry.replace(place, str(here))
            file = entries / f"{resource}.yaml"
            file.write_text(entry)
            plughost.command("check", "--strict", file)
            found = plughost.command("discover", file)
            expect(f"example.com/{resource}" in found, f"{heading}: discover prints {found}")
            expect(f"added      example.com/{resource}\n" in plughost.command("reload"), f"{heading}: nothing was added")
            advertised(cluster, node, f"example.com/{resource}", count)
            name, text = pod_of(text, script)
            cluster.api.create(text)
            written = pods.output(cluster.api, name).strip()
            expect(written == wanted, f"{heading}: the pod wrote {written}")
    return ", ".join(heading for heading, *_ in shown)
