"""What the cluster needs of the machine, and what it has there for a while."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

from process import TimedOut, until

# command → the Debian package that has it
PROGRAMS = {
    "etcd": "etcd-server",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "openssl": "openssl",
}
NAMESPACES = ["--mount", "--net", "--pid", "--ipc"]
CGROUPS = pathlib.Path("/sys/fs/cgroup")
FOLDERS = pathlib.Path("/tmp")
PREFIX = "plughost-e2e-"


def lacks():
    """Why the cluster cannot run here: one sentence each; nothing if it can."""
    reasons = [
        f"{program} is missing: install Debian's {package}"
        for program, package in PROGRAMS.items() if not shutil.which(program)
    ]
    if not os.path.exists("/etc/hosts"):
        reasons.append("/etc/hosts is missing, of which pods that use the node's network get a copy: make one")
    if os.geteuid() != 0:
        return reasons + ["containers and mounts need root"]
    probe = subprocess.run(["unshare", *NAMESPACES, "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        reasons.append(f"no namespaces and mounts here: {probe.stderr.strip()}")
    roots = _cgroup_roots()
    if not roots or not all(os.access(root, os.W_OK) for root in roots):
        reasons.append(f"no cgroup can be made: {CGROUPS} is not mounted, or read-only")
    return reasons


def _cgroup_roots():
    """The one tree of cgroup v2; each controller's of v1, and the one of v2 that may stand beside them."""
    mounts = (line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines())
    return sorted({
        pathlib.Path(where) for _, where, kind, *_ in mounts
        if kind in ("cgroup", "cgroup2") and CGROUPS in [pathlib.Path(where), *pathlib.Path(where).parents]
    })


def _remove(folder):
    """The folder and the cgroup with its name."""
    for root in _cgroup_roots():
        _remove_cgroup(root / folder.name)
    folder.rmdir()


def _remove_cgroup(folder):
    def gone():
        try:
            for path, _, _ in os.walk(folder, topdown=False):
                os.rmdir(path)
        except OSError:
            pass  # the kernel still ends what was in it
        return not folder.exists()

    try:
        until(gone, 10, f"removing the cgroup {folder}")
    except TimedOut as error:
        print(f"{error}: see what runs there in cgroup.procs, then rmdir it", file=sys.stderr)


def make_cgroup(name):
    """In each of the trees. Whoever made the topmost removes it, with all that is below."""
    for root in _cgroup_roots():
        (root / name).mkdir()


def _hand_on_controllers(folder):
    """In cgroup v2 a cgroup has the controllers that the one above hands on. Returns those that are new."""
    if not (CGROUPS / "cgroup.controllers").exists():
        return set()
    handed_on = folder / "cgroup.subtree_control"
    new = set((folder / "cgroup.controllers").read_text().split()) - set(handed_on.read_text().split())
    handed_on.write_text(" ".join(f"+{controller}" for controller in new))
    return new


class Footprint:
    """What the machine sees of us: a cgroup for all pods, and an empty folder to mount our file system on.

    The name of both tells this process; both are gone at the end.
    """

    def __init__(self):
        for left in FOLDERS.glob(f"{PREFIX}*"):
            # A run that was killed could not do it itself.
            if not pathlib.Path("/proc", left.name.removeprefix(PREFIX)).exists():
                _remove(left)
        self.folder = FOLDERS / f"{PREFIX}{os.getpid()}"
        self.folder.mkdir()
        self._handed_on = _hand_on_controllers(CGROUPS)
        make_cgroup(self.folder.name)
        _hand_on_controllers(CGROUPS / self.folder.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _remove(self.folder)
        with contextlib.suppress(OSError):  # somebody else needs them by now
            if self._handed_on:
                taken_back = " ".join(f"-{controller}" for controller in self._handed_on)
                (CGROUPS / "cgroup.subtree_control").write_text(taken_back)


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True)


def furnish(folder):
    """In namespaces of our own: a folder that vanishes with them, a network, and the kernel's settings."""
    mount("-t", "tmpfs", "-o", "mode=755", "plughost-e2e", str(folder))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    # The kubelet changes these for the whole machine, unless it finds them like this.
    wanted = {
        "vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
        "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000,
    }
    for name, value in wanted.items():
        shown = folder / "sysctl" / name
        shown.parent.mkdir(parents=True, exist_ok=True)
        shown.write_text(f"{value}\n")
        mount("--bind", str(shown), f"/proc/sys/{name}")
    # A pod with users of its own may mount /proc only if a whole one can be seen.
    whole = folder / "proc"
    whole.mkdir()
    mount("-t", "proc", "none", str(whole))
