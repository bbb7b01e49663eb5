"""A clean Debian that has been booted: systemd is its first process, and nothing of it is left in the end."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))

from process import Process, until  # noqa: E402

BOOT = 60  # seconds
# The library of our package, since a machine has no mirror; the shells that complete; what the pages' commands call; Ansible; runc; rpm.
PACKAGES = """systemd systemd-sysv dbus libudev1 bash-completion zsh procps udev ansible-core
    python3-apt runc rpm""".split()
# Of another Debian, and of one that is as bare as it is when systemd boots it.
FEW_PACKAGES = "systemd systemd-sysv dbus libudev1 procps".split()


class NotShown(Exception):
    """What this machine lacks."""


class Failed(Exception):
    """A command of the machine ended with another code than 0."""


def unified_hierarchy():
    """Where cgroup2 is mounted: alone, or beside the older controllers."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    raise NotShown("there is no cgroup2 here")


def children(process):
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def clean_root(suite="bookworm", packages=PACKAGES):
    """The directory of a clean Debian, made if need be."""
    made = subprocess.run([REPOSITORY / "tests/clean_root", suite, *packages],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if made.returncode == 77:
        raise NotShown(made.stderr.strip().removeprefix("not shown: "))
    if made.returncode != 0:
        raise Failed(made.stderr)
    return made.stdout.strip()


class Machine:
    """Its root is an overlay in memory, its network a loopback of its own. `shared` is /shared in it.

    Ended by close(), which also ends a with-statement. One thread.
    """

    def __init__(self, suite="bookworm", packages=PACKAGES):
        if os.geteuid() != 0:
            raise NotShown("only root can boot a machine in namespaces")
        for program in ("systemd-nspawn", "nsenter", "unshare"):
            if not shutil.which(program):
                raise NotShown(f"there is no {program} here (./dev package-test installs it)")
        root = clean_root(suite, packages)
        self.shared = Path(tempfile.mkdtemp(prefix="plughost-machine-"))
        # A part of the tree of its own: the machine's systemd takes what it starts in for the whole.
        self._cgroup = unified_hierarchy() / self.shared.name
        self._cgroup.mkdir()
        self._leader = None
        self._nspawn = Process([
            "sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', self._cgroup,
            # However this process ends, everything of the machine ends with it.
            "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
            "systemd-nspawn", "--quiet", "--directory", root, "--volatile=overlay",
            "--private-network", "--register=no", "--keep-unit", "--console=pipe",
            f"--machine=plughost-{secrets.token_hex(4)}", f"--bind={self.shared}:/shared",
            f"--bind-ro={REPOSITORY}:/repository", "--capability=all", "--system-call-filter=bpf", "--boot",
            "systemd.mask=e2scrub_reap.service",  # takes seconds, for nothing
        ], {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"})
        try:
            self._leader = until(self._find_leader, BOOT, "the machine's first process")
            until(self._is_up, BOOT, "the machine's start", every=0.1)
        except Exception as error:
            words = "\n".join(self._nspawn.lines()[-5:])
            self.close()
            raise NotShown(f"systemd does not start in namespaces here: {error}: {words}") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._leader and self._nspawn.running():
            # nspawn itself then tidies up what it made on this machine.
            os.kill(self._leader, signal.SIGKILL)
            self._nspawn.wait(30)
        self._nspawn.close()
        until(self._rid_of_cgroup, 10, f"the end of everything in {self._cgroup}")
        shutil.rmtree(self.shared, ignore_errors=True)

    def _rid_of_cgroup(self):
        folders = [Path(folder) for folder, _, _ in os.walk(self._cgroup, topdown=False)]
        try:
            for folder in folders:
                folder.rmdir()
        except OSError:
            return False
        return True

    def _find_leader(self):
        """The machine's first process, as this machine numbers it: what nspawn's first child has made."""
        if not self._nspawn.running():
            raise Failed("systemd-nspawn has ended")
        nspawn = children(self._nspawn.pid)
        for child in children(nspawn[0]) if nspawn else []:
            try:
                status = Path(f"/proc/{child}/status").read_text()
            except OSError:
                continue
            if re.match(r"Name:\tsystemd\n", status) and re.search(r"^NSpid:.*\t1$", status, re.M):
                return child
        return None

    def _is_up(self):
        state = self.run("systemctl is-system-running", check=False).strip()
        return state in ("running", "degraded")

    def inside(self, *command):
        """The command line that runs it in the machine."""
        return ["nsenter", "--target", str(self._leader), "--mount", "--uts", "--ipc", "--net", "--pid",
                "--root", "--wd", "--", *command]

    def outcome(self, script, seconds=60):
        """The shell script's exit code, and what it writes on both outputs."""
        done = subprocess.run(
            self.inside("/bin/bash", "-c", script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=seconds, env=ENVIRONMENT)
        return done.returncode, done.stdout

    def run(self, script, check=True, seconds=60):
        """What the shell script writes. Raises Failed unless it ends with 0."""
        code, words = self.outcome(script, seconds)
        if check and code != 0:
            raise Failed(f"{script}\nended with {code}:\n{words}")
        return words

    def exit_code(self, script):
        return self.outcome(script)[0]

    def install(self, package):
        """As unattended upgrades do: what an administrator changed stays."""
        shutil.copy(package, self.shared)
        self.run(f"dpkg --force-confold --install /shared/{package.name}")

    def add_address(self, address):
        """An address of its own, which only it reaches."""
        subprocess.run(["nsenter", "--target", str(self._leader), "--net",
                        "ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)

    def process(self, *command):
        """A process of the machine that goes on; the caller closes it."""
        return Process(["env", "-i", *(f"{key}={value}" for key, value in ENVIRONMENT.items()),
                        *self.inside(*command)])


ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
               "LANG": "C.UTF-8", "TERM": "dumb", "DEBIAN_FRONTEND": "noninteractive"}


_packages = None  # the folder that main() was given


def deb():
    """The package that is tested."""
    return next(_packages.glob("plughost_*.deb"))


def standin_deb():
    """The stand-in kubelet's."""
    return next(_packages.glob("plughost-kubelet_*.deb"))


def debug_symbols():
    """The package with its debug information."""
    return next(_packages.glob("*.ddeb"))


def rpm():
    return next(_packages.glob("plughost-[0-9]*.rpm"))


def tarball():
    return next(_packages.glob("*.tar.gz"))


def image():
    """Its archive."""
    return next(_packages.glob("*.oci.tar"))


def main():
    """A test program's; its first argument is the packages' folder. Exits with 77 where no machine can be booted."""
    global _packages
    _packages = Path(sys.argv.pop(1))
    try:
        with Machine():
            pass
    except NotShown as lack:
        print(f"not shown: {lack}")
        sys.exit(77)
    unittest.main("__main__", verbosity=2, warnings="ignore")
