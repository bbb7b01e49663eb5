#!/usr/bin/env python3
"""The Debian package in a clean Debian: installed, running, upgraded, removed, purged. And the tarball.

Usage: package_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import Machine, deb, debug_symbols, main, tarball, until  # noqa: E402

CONFIG = """\
domain: example.com
resources:
- name: token
  count: 4
"""
CONFFILE = "/etc/plughost/config.yaml"
LONGEST_GAP = 5  # seconds; what is usual is printed


def newer(package, folder):
    """The package as a later version with another default configuration."""
    tree = folder / "newer"
    subprocess.run(["dpkg-deb", "--raw-extract", package, tree], check=True)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("\nVersion: 0.", "\nVersion: 1000.", 1))
    config = tree / CONFFILE[1:]
    config.write_text(config.read_text() + "# The next version's words.\n")
    sums = tree / "DEBIAN/md5sums"
    sums.unlink(missing_ok=True)
    target = folder / "newer.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "--build", tree, target], check=True, stdout=subprocess.PIPE)
    return target


class InADebian(unittest.TestCase):
    """Each test has a machine of its own."""

    @classmethod
    def setUpClass(cls):
        cls.newer = newer(deb(), Path(cls.enterClassContext(tempfile.TemporaryDirectory())))

    def setUp(self):
        self.machine = self.enterContext(Machine())

    def is_there(self, path):
        return self.machine.exit_code(f"test -e {path}") == 0

    def daemon(self):
        """Its process id."""
        return self.machine.run("systemctl show --property MainPID --value plughost").strip()

    def kubelet(self):
        """The stand-in kubelet, by a copy of the program that outlives the package."""
        self.machine.run("cp /usr/bin/plughost /shared/standin")
        kubelet = self.enterContext(self.machine.process("/shared/standin", "kubelet", "--stay"))
        kubelet.wait_for_line("listening on", 10)
        return kubelet

    def test_an_installed_package_runs_and_offers_nothing_yet(self):
        self.machine.install(deb())
        self.assertEqual(self.machine.run("systemctl is-enabled plughost; systemctl is-active plughost").split(),
                         ["enabled", "active"])
        self.machine.run("plughost check && getent group plughost")
        # What is commented out would be right, too.
        self.machine.run(f"sed -E 's/^#([a-z]+:)/\\1/' {CONFFILE} >/tmp/all.yaml && plughost check --strict /tmp/all.yaml")
        self.kubelet()
        until(lambda: "0 of 0 resources attached" in self.machine.run("systemctl show --property StatusText plughost"),
              10, "the unit's status", every=0.05)
        for path in ("/usr/share/man/man1/plughost.1.gz", "/usr/share/man/man5/plughost.yaml.5.gz",
                     "/usr/share/plughost/plugins.d/fuse.yaml", "/usr/share/plughost/systemd/gpu.conf",
                     "/usr/share/doc/plughost/config.example.yaml", "/etc/plughost/plugins.d"):
            self.assertTrue(self.is_there(path), path)

    def test_a_drop_in_that_is_linked_is_offered_after_a_reload(self):
        self.machine.install(deb())
        kubelet = self.kubelet()
        self.machine.run("plughost preset enable count && systemctl reload plughost")
        kubelet.wait_for_line("healthy", 10)
        self.assertEqual(self.machine.run("readlink /etc/plughost/plugins.d/count.yaml").strip(),
                         "/usr/share/plughost/plugins.d/count.yaml")
        self.machine.run("plughost preset disable count && plughost check")
        self.assertFalse(self.is_there("/etc/plughost/plugins.d/count.yaml"))

    def test_an_upgrade_keeps_the_configuration_and_the_pods(self):
        self.machine.install(deb())
        kubelet = self.kubelet()
        (self.machine.shared / "config.yaml").write_text(CONFIG)
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && systemctl reload plughost")
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 10)
        kubelet.write("allocate example.com/token 2 pod-a")
        kubelet.wait_for_line("pod-a holds", 10)

        before, start = self.daemon(), kubelet.mark()
        shutil.copy(self.newer, self.machine.shared)
        upgrade = self.machine.process("dpkg", "--force-confold", "--install", f"/shared/{self.newer.name}")
        kubelet.wait_for_line("stream ended", 60, start)
        ended = time.monotonic()
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 60, start)
        gap = time.monotonic() - ended
        self.assertEqual(upgrade.wait(60), 0, upgrade.lines())
        print(f"\nupgrade: {gap * 1000:.0f} ms from the end of the old daemon's stream to the new one's list")
        self.assertLess(gap, LONGEST_GAP)
        self.assertNotEqual(self.daemon(), before)
        self.assertEqual(self.machine.run(f"cat {CONFFILE}"), CONFIG)
        kubelet.write("pods")
        kubelet.wait_for_line(lambda line: "pod-a" in line and "token" in line, 10, start)

    def test_a_configuration_that_nobody_changed_is_the_new_version_s(self):
        self.machine.install(deb())
        self.machine.install(self.newer)
        self.assertIn("The next version's words.", self.machine.run(f"cat {CONFFILE}"))

    def test_a_service_that_was_disabled_and_stopped_stays_so(self):
        self.machine.install(deb())
        self.machine.run("systemctl disable --now plughost")
        self.machine.install(self.newer)
        self.assertNotEqual(self.machine.exit_code("systemctl is-enabled plughost"), 0)
        self.assertNotEqual(self.machine.exit_code("systemctl is-active plughost"), 0)

    def test_a_removed_package_leaves_the_configuration_and_a_purged_one_what_is_the_administrator_s(self):
        self.machine.install(deb())
        (self.machine.shared / "config.yaml").write_text(CONFIG)
        kubelet = self.kubelet()
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && systemctl reload plughost && "
                         "cp /usr/share/plughost/plugins.d/count.yaml /etc/plughost/plugins.d/mine.yaml")
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 10)
        sockets = "find /var/lib/kubelet/device-plugins -name '*.sock' ! -name kubelet.sock"
        self.assertNotEqual(self.machine.run(sockets), "")

        start = kubelet.mark()
        self.machine.run("dpkg --remove plughost")
        kubelet.wait_for_line("stream ended", 10, start)
        self.assertEqual(self.machine.run(sockets), "")
        for path in ("/usr/bin/plughost", "/usr/lib/systemd/system/plughost.service", "/usr/share/plughost",
                     "/usr/share/man/man1/plughost.1.gz", "/run/plughost"):
            self.assertFalse(self.is_there(path), path)
        self.assertNotEqual(self.machine.exit_code("systemctl is-active plughost"), 0)
        self.assertEqual(self.machine.run(f"cat {CONFFILE}"), CONFIG)
        self.assertTrue(self.is_there("/var/lib/plughost"))

        self.machine.run("dpkg --purge plughost")
        self.assertFalse(self.is_there(CONFFILE))
        self.assertFalse(self.is_there("/var/lib/plughost"))
        self.assertTrue(self.is_there("/etc/plughost/plugins.d/mine.yaml"))
        self.assertFalse(self.is_there("/etc/systemd/system/multi-user.target.wants/plughost.service"))
        self.assertEqual(self.machine.run("find /var/lib/systemd/deb-systemd-helper* -name '*plughost*'"), "")

        self.machine.install(deb())
        self.assertEqual(self.machine.run("systemctl is-active plughost").strip(), "active")

    def test_the_debug_information_is_a_package_beside_it(self):
        self.machine.install(deb())
        self.machine.install(debug_symbols())
        trees = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for package in (deb(), debug_symbols()):
            subprocess.run(["dpkg-deb", "--extract", package, trees], check=True)

        def said(*command):
            return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

        program = trees / "usr/bin/plughost"
        self.assertNotIn(".debug_", said("readelf", "--sections", "--wide", program))
        build_id = re.search(r"Build ID: (\w+)", said("readelf", "--notes", program)).group(1)
        debug = trees / f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        address = re.search(r"^(\w+) T main$", said("nm", debug), re.MULTILINE).group(1)
        self.assertRegex(said("addr2line", "--exe", debug, address), r"/src/main\.cpp:\d+")

    def test_the_tarball_needs_no_package_manager(self):
        # Nor Debian's libraries.
        self.machine.run("dpkg --remove libprometheus-cpp-core1.0")
        shutil.copy(tarball(), self.machine.shared)
        links = self.machine.run("readlink /bin /lib /sbin")
        self.machine.run("tar --directory / --strip-components 1 --keep-directory-symlink --no-same-owner "
                         f"-xzf /shared/{tarball().name} && systemd-sysusers && systemctl daemon-reload && "
                         "systemctl enable --now plughost && plughost check")
        self.assertEqual(self.machine.run("systemctl is-active plughost").strip(), "active")
        self.assertEqual(self.machine.run("readlink /bin /lib /sbin"), links)
        needed = self.machine.run("ldd /usr/bin/plughost")
        elsewhere = {line.split()[0].split(".so")[0].lstrip("/") for line in needed.splitlines() if "/lib/plughost/" not in line}
        self.assertLessEqual(elsewhere, {"linux-vdso", "libudev", "libstdc++", "libgcc_s", "libm", "libc", "lib64/ld-linux-x86-64"})


if __name__ == "__main__":
    main()
