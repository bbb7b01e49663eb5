"""Replays of who may open a device's node in a container: docs/containers.md has what they see."""

import contextlib
import os
import stat

import pods
from facts import NotShown, advertised, expect
from pods import pod

# One that no container has unless it is given to it, and whose opening does nothing.
DEVICE = "/dev/loop-control"
GROUP = 20
# way: what an entry says, and its permissions
WAYS = {
    "plain": ("", "rw"),
    "read": ("", "r"),
    "cdi": ("cdi: true, ", "rw"),
    "group": ("cdi: true, access: group, ", "rw"),
}

ROOT = {}
USER = {"runAsUser": 65532, "runAsGroup": 65532}
MEMBER = USER | {"supplementalGroups": [GROUP]}
FILTERED = USER | {"seccompProfile": {"type": "RuntimeDefault"}}

OPENED, REFUSED = "opened", "Permission denied"
NOT_IN_CGROUP = "Operation not permitted"


@contextlib.contextmanager
def port(cluster, node, mode, inside=""):
    """A node with the mode and a group of its own, and a resource for each way to have it. inside: its path in containers, if not its own. Yields how a pod is asked"""
    if not os.path.exists(DEVICE):
        raise NotShown(f"this machine has no {DEVICE} (modprobe loop)")
    path = node.fresh_folder() / "port"
    path.parent.chmod(0o755)  # as /dev has it
    os.mknod(path, stat.S_IFCHR | mode, os.stat(DEVICE).st_rdev)
    os.chmod(path, mode)
    os.chown(path, 0, GROUP)
    inside = inside or path
    entries = "".join(
        f"- {{name: plughost.test/port-{way}, id: {way}-{path.parent.name}, {more}groups: [{{count: 10, paths: [{{path: {path}, mountPath: {inside}, permissions: {permissions}}}]}}]}}\n"
        for way, (more, permissions) in WAYS.items())

    def ask(name, way, security, host_users=True):
        """What the node is in a container, its process's groups, and whether it opens"""
        script = f"stat -c '%a %u:%g' {inside}; id -G; (exec 3<>{inside}) 2>&1 && echo opened || true"
        cluster.api.create(
            pod(name, {f"plughost.test/port-{way}": 1}, script, security=security, host_users=host_users))
        seen, groups, answer = pods.output(cluster.api, name).strip().split("\n")
        return seen, groups.split(), OPENED if answer == OPENED else answer.rpartition(": ")[2]

    with node.plughost(f"resources:\n{entries}"):
        for way in WAYS:
            advertised(cluster, node, f"plughost.test/port-{way}", 10)
        yield ask


def compared(ask, cases, **how):
    """cases: name → way, the pod's security context, what its node is, whether it opens. Returns them as words"""
    for name, (way, security, *expected) in cases.items():
        seen, groups, answer = ask(name, way, security, **how)
        expect([seen, answer] == expected, f"{name}: {seen}, groups {groups}: {answer}")
        expect(way != "group" or str(GROUP) in groups, f"{name}: groups {groups}")
    return "; ".join(f"{name}: {seen}, {answer}" for name, (_, _, seen, answer) in cases.items())


def not_root(cluster):
    """A node with mode 0660 and a group of its own, in containers that run as uid 65532: who opens it, and who does not"""
    with port(cluster, cluster.node_a, 0o660, "/dev/port") as ask:
        return compared(ask, {
            "root": ("plain", ROOT, "660 0:20", OPENED),
            "user": ("plain", USER, "660 0:20", REFUSED),
            "user-of-group": ("plain", MEMBER, "660 0:20", OPENED),
            "root-cdi": ("cdi", ROOT, "660 0:0", OPENED),
            "user-cdi": ("cdi", USER, "660 65532:65532", OPENED),
            "user-group": ("group", USER, "660 65532:20", OPENED),
            "user-group-seccomp": ("group", FILTERED, "660 65532:20", OPENED),
            "root-read": ("read", ROOT, "660 0:20", NOT_IN_CGROUP),
        })


def device_ownership(cluster):
    """The same with device_ownership_from_security_context in containerd's configuration"""
    with cluster.node(runtime="device_ownership_from_security_context = true") as node:
        with port(cluster, node, 0o660, "/dev/port") as ask:
            return compared(ask, {
                "owner-root": ("plain", ROOT, "660 0:20", OPENED),
                "owner-user": ("plain", USER, "660 65532:65532", OPENED),
                "owner-user-cdi": ("cdi", USER, "660 65532:65532", OPENED),
            })


def user_namespaces(cluster):
    """hostUsers: false: only a node that everybody may open is opened, and only under its own path"""
    with port(cluster, cluster.node_a, 0o666) as ask:
        for_all = compared(ask, {
            "for-all-root": ("plain", ROOT, "666 65534:65534", OPENED),
            "for-all-user": ("plain", USER, "666 65534:65534", OPENED),
            "for-all-user-cdi": ("cdi", USER, "666 65534:65534", OPENED),
        }, host_users=False)
    with port(cluster, cluster.node_a, 0o660) as ask:
        closed = compared(ask, {
            "closed-root": ("plain", ROOT, "660 65534:65534", REFUSED),
            "closed-user-of-group": ("plain", MEMBER, "660 65534:65534", REFUSED),
            "closed-user-cdi": ("cdi", USER, "660 65534:65534", REFUSED),
            "closed-user-group": ("group", USER, "660 65534:65534", REFUSED),
        }, host_users=False)
    with port(cluster, cluster.node_a, 0o666, "/dev/port") as ask:
        for way in ("plain", "cdi"):
            try:
                ask(f"elsewhere-{way}", way, ROOT, host_users=False)
            except pods.PodFailed as failed:
                expect("mount src=/dev/port" in str(failed), str(failed))
            else:
                expect(False, f"{way}: a node that is elsewhere in the container was given")
    return f"{for_all}; {closed}; another path: does not start"
