"""Replays of what is inside the containers."""

import json
import pathlib
import re

import pods
from facts import NotShown, advertised, expect
from pods import pod
from process import until

PRESETS = pathlib.Path(__file__).resolve().parents[3] / "plugins.d"


def device_node(cluster):
    """/dev/fuse inside a container: a file system is mounted by it; without it, opening is refused"""
    if not pathlib.Path("/dev/fuse").exists():
        raise NotShown("this machine has no /dev/fuse (modprobe fuse)")
    resource = "plughost.test/fuse"
    opening = "exec 3<>/dev/fuse"
    # FUSE's first request to who serves a file system: 4 bytes of length, then opcode 26, FUSE_INIT.
    script = (f"{opening}; mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none /mnt;"
              " dd bs=65536 count=1 <&3 2>/dev/null | od -A n -t u4 -N 8; umount -l /mnt")
    with cluster.node_a.plughost(f"""
resources:
- name: {resource}
  groups:
  - count: 20
    paths: [{{path: /dev/fuse}}]
"""):
        advertised(cluster, cluster.node_a, resource, 20)
        cluster.api.create(pod("fuse", {resource: 1}, script, privileges=["SYS_ADMIN"]))
        length, opcode = map(int, pods.output(cluster.api, "fuse").split())
        expect(opcode == 26, f"the kernel's first request is {opcode}, not FUSE_INIT")
        without = f"mknod /dev/fuse c 10 229; ({opening}) 2>&1 && exit 1 || true"
        cluster.api.create(pod("no-fuse", {}, without, privileges=["SYS_ADMIN"]))
        refusal = pods.output(cluster.api, "no-fuse").strip()
        expect("Operation not permitted" in refusal, f"a pod without the resource: {refusal}")
    return f"the container read FUSE_INIT, {length} bytes; a pod without it: “Operation not permitted”"


def mount(cluster):
    """A file of the node inside a container, read-only"""
    node, resource = cluster.node_a, "plughost.test/licence"
    folder = node.fresh_folder()
    (folder / "red.lic").write_text("one seat\n")
    with node.plughost(f"""
resources:
- name: {resource}
  directory: {{path: {folder}}}
  mounts: [{{hostPath: "{{path}}", containerPath: "/licences/{{name}}", readOnly: true}}]
"""):
        advertised(cluster, node, resource, 1)
        cluster.api.create(pod("licence", {resource: 1},
                               "cat /licences/red.lic; (echo two seats > /licences/red.lic) 2>&1 || true"))
        seat, refusal = pods.output(cluster.api, "licence").splitlines()
        expect(seat == "one seat" and "Read-only file system" in refusal, f"it saw: {seat}; {refusal}")
    return "/licences/red.lic is read; writing: “Read-only file system”"


def annotation(cluster):
    """An annotation for the runtime's hooks: it is in the OCI specification that runc got"""
    node, resource, key = cluster.node_a, "plughost.test/annotated", "plughost.test/seat"
    with node.plughost(f"""
resources:
- name: {resource}
  count: 1
  id: window
  annotations: {{{key}: "{{id}}"}}
"""):
        advertised(cluster, node, resource, 1)
        cluster.api.create(pod("annotated", {resource: 1}, "true"))
        pods.output(cluster.api, "annotated")
        found = node.specification(pods.container(cluster.api, "annotated"))["annotations"].get(key)
        expect(found == "window", f"{key} is {found}")
    return f"{key}=window"


def cdi(cluster):
    """A CDI device, asked for by annotation: its node and its variable are in the container"""
    node, resource, kind = cluster.node_a, "plughost.test/cdi", "plughost.test/widget"
    specification = node.folder / "run/cdi/plughost.json"
    specification.parent.mkdir(exist_ok=True)
    specification.write_text(json.dumps({
        "cdiVersion": "0.6.0",
        "kind": kind,
        "devices": [{"name": "left", "containerEdits": {
            "env": ["WIDGET=left"],
            "deviceNodes": [{"path": "/dev/widget", "hostPath": "/dev/zero"}],
        }}],
    }))
    with node.plughost(f"""
resources:
- name: {resource}
  count: 1
  id: left
  annotations: {{cdi.k8s.io/plughost: "{kind}={{id}}"}}
"""):
        advertised(cluster, node, resource, 1)
        cluster.api.create(pod("widget", {resource: 1}, "echo $WIDGET; od -A n -t u1 -N 4 /dev/widget"))
        words = pods.output(cluster.api, "widget").split()
        expect(words == ["left", "0", "0", "0", "0"], f"the container saw: {words}")
    return "WIDGET=left, and /dev/widget is read"


def cdi_entries(cluster):
    """Ready-made entries with `cdi: true`: the runtime reads plughost's specifications, and their nodes can be opened"""
    nodes = {"tun": "/dev/net/tun", "fuse": "/dev/fuse", "kvm": "/dev/kvm", "loop": "/dev/loop0"}
    here = [name for name, path in nodes.items() if pathlib.Path(path).exists()]
    if len(here) < 3:
        raise NotShown(f"of {', '.join(nodes.values())} this machine has only {len(here)}")
    node, resources, entries = cluster.node_a, {}, []
    for name in here:
        text = (PRESETS / f"{name}.yaml").read_text()
        [resources[name]] = re.findall(r"^- name: (\S+)$", text, re.MULTILINE)
        entries.append(text.split("resources:\n")[1] + "  cdi: true\n")
    with node.plughost("resources:\n" + "".join(entries)):
        for name in here:
            until(lambda: cluster.api.node(node.name)["status"]["allocatable"].get(resources[name], "0") != "0", 20,
                  f"{resources[name]} is advertised")
        for name in here:
            path = nodes[name]
            specification = node.folder / "run/cdi" / f"plughost-{resources[name].replace('/', '_')}.json"
            expect(specification.exists(), f"there is no {specification.name}")
            which = "/dev/loop[0-9]*" if name == "loop" else path
            script = f"for each in {which}; do exec 3<$each; stat -c %F $each; done"
            cluster.api.create(pod(f"cdi-{name}", {resources[name]: 1}, script))
            words = pods.output(cluster.api, f"cdi-{name}").strip()
            expect(words in ("character special file", "block special file"), f"{path}: the container saw: {words}")
    return ", ".join(nodes[name] for name in here) + " were opened"
