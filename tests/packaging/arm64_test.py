#!/usr/bin/env python3
"""The package for arm64 in a Debian for arm64, whose programs qemu runs: installed, the daemon attached to a kubelet, purged. And the image.

Usage: arm64_test.py PACKAGES, the folder where `./dev package --arch arm64` left them. Ends with 77 where such programs cannot be run.

Not shown: the unit, since no systemd boots under qemu's emulation of a user's programs; the rights of the DaemonSet's container, which qemu itself could not
work with; a real machine.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

from elf import Program  # noqa: E402
from oci import Image, missing_tool  # noqa: E402
from process import Process, until  # noqa: E402

WITH_ARM64 = HERE.parent / "with_arm64"
CONFIG = """\
resources:
- name: example.com/token
  count: 4
"""


def clean_root():
    """The directory of a clean Debian for arm64, made if need be, which is some minutes' work for qemu."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "plughost/bookworm-arm64"
    if not root.exists():
        root.parent.mkdir(parents=True, exist_ok=True)
        new = root.with_suffix(".new")
        subprocess.run(["rm", "-rf", new], check=True)
        subprocess.run(["mmdebstrap", "--variant=minbase", "--architectures=arm64", "--include=libudev1,init-system-helpers",
                        "bookworm", new], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        new.rename(root)
    return root


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def folder_in_memory(test):
    """What is mounted in it goes with it."""
    folder = Path(test.enterContext(tempfile.TemporaryDirectory(prefix="plughost-arm64-")))
    mount("-t", "tmpfs", "tmpfs", folder)
    test.addCleanup(subprocess.run, ["umount", "--lazy", folder], check=True)
    return folder


def mount_kernel_s(root):
    for name in ("dev", "proc", "sys"):
        mount("--rbind", f"/{name}", root / name)


class InADebian(unittest.TestCase):
    def setUp(self):
        self.root = folder_in_memory(self) / "root"
        subprocess.run(["cp", "--archive", clean_root(), self.root], check=True)
        mount_kernel_s(self.root)
        for name in ("plughost", "plughost-kubelet"):
            subprocess.run(["cp", next(packages.glob(f"{name}_*.deb")), self.root / f"tmp/{name}.deb"], check=True)

    def command(self, *words):
        return ["chroot", self.root, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", *words]

    def run_in(self, *words):
        done = subprocess.run(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_it_is_installed_started_and_purged(self):
        self.assertEqual(self.run_in("uname", "-m").strip(), "aarch64")
        self.run_in("dpkg", "--install", "/tmp/plughost.deb", "/tmp/plughost-kubelet.deb")
        program = self.root / "usr/bin/plughost"
        self.assertEqual(Program(program).machine, "arm64")
        subprocess.run([HERE / "portable_test.py", program], check=True, stderr=subprocess.PIPE)
        self.run_in("getent", "group", "plughost")
        (self.root / "etc/plughost/config.yaml").write_text(CONFIG)
        self.run_in("plughost", "check")
        kubelet = self.enterContext(Process(self.command("plughost-kubelet", "--stay")))
        kubelet.wait_for_line("listening on", 60)
        daemon = self.enterContext(Process(self.command("plughost", "run")))
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 60)
        kubelet.write("allocate example.com/token 2 pod-a")
        kubelet.wait_for_line("pod-a holds", 60)
        self.assertIn("example.com/token", self.run_in("plughost", "status"))
        self.assertTrue(daemon.running())
        daemon.close()
        self.run_in("dpkg", "--purge", "plughost")
        self.assertFalse((self.root / "usr/bin/plughost").exists())
        self.assertFalse((self.root / "etc/plughost").exists())


@unittest.skipIf(missing_tool(), f"not shown: there is no {missing_tool()} here (./dev package-test --arch arm64 installs it)")
class InTheImage(unittest.TestCase):
    def setUp(self):
        image = Image(next(packages.glob("*.oci.tar")), "arm64", folder_in_memory(self))
        self.root, self.said = image.root, image.configuration["config"]
        (self.root / "etc/plughost/config.yaml").write_text(CONFIG)
        mount("--bind", self.root, self.root)
        mount_kernel_s(self.root)
        for name in ("run/plughost", "var/lib/kubelet/device-plugins", "var/lib/kubelet/pod-resources", "var/lib/plughost"):
            mount("-t", "tmpfs", "tmpfs", self.root / name)
        mount("-o", "remount,bind,ro", self.root)
        # What is no part of the image lies in one of its mounts.
        self.standin = "/run/plughost/tree/usr/bin/plughost-kubelet"
        subprocess.run(["dpkg-deb", "--extract", next(packages.glob("plughost-kubelet_*.deb")), self.root / "run/plughost/tree"], check=True)

    def command(self, *words):
        return self.in_it(*self.said["Entrypoint"], *words)

    def in_it(self, *words):
        return ["env", "-i", *self.said["Env"], shutil.which("chroot"), self.root, *words]

    def test_its_program_runs_with_nothing_but_what_is_in_it(self):
        kubelet = self.enterContext(Process(self.in_it(self.standin, "--stay")))
        kubelet.wait_for_line("listening on", 60)
        self.enterContext(Process(self.command(*self.said["Cmd"])))
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 60)
        kubelet.write("allocate example.com/token 2 pod-a")
        kubelet.wait_for_line("pod-a holds", 60)
        done = subprocess.run(self.command("status"), check=True, stdout=subprocess.PIPE, text=True)
        self.assertIn("example.com/token", done.stdout)


if __name__ == "__main__":
    if "PLUGHOST_WITH_ARM64" not in os.environ:
        os.execve(WITH_ARM64, [WITH_ARM64, *sys.argv], {**os.environ, "PLUGHOST_WITH_ARM64": "yes"})
    packages = Path(sys.argv.pop(1))
    unittest.main(verbosity=2, warnings="ignore")
