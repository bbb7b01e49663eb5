#!/usr/bin/env python3
"""The Debian package in a clean Debian: installed, running, upgraded, removed, purged.

Usage: package_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import os
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

from machine import FEW_PACKAGES, PACKAGES, REPOSITORY, Machine, deb, debug_symbols, main, standin_deb, until  # noqa: E402

from conformance.kubelet import Kubelet  # noqa: E402

CONFIG = """\
domain: example.com
resources:
- name: token
  count: 4
"""
CONFFILE = "/etc/plughost/config.yaml"
SETUP_CONFIG = CONFIG + "listen: 0.0.0.0:9464\n"
SETUP_DROP_IN = "/etc/systemd/system/plughost.service.d/10-setup.conf"
PODS_API = "/var/lib/kubelet/pods-api/pods-api.sock"
POD_RESOURCES = "/var/lib/kubelet/pod-resources/kubelet.sock"
LONGEST_GAP = 5  # seconds; what is usual is printed
LONGEST_START = 60


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


class KubeletInMachine(Kubelet):
    """Kubernetes' own device manager, which begins in the machine: its file's name ends with the version."""

    def __init__(self, machine, program):
        self._machine = machine
        shutil.copy(program, machine.shared)
        super().__init__(program, "/var/lib/kubelet/device-plugins", ["-pods-api", PODS_API, "-pod-resources", POD_RESOURCES])

    def _begin(self, program, directory, flags):
        return self._machine.process(f"/shared/{program.name}", "-directory", directory, *flags)


class InDebian12(unittest.TestCase):
    """Each test has a machine of its own."""

    suite, packages, name = "bookworm", PACKAGES, "Debian 12"

    @classmethod
    def setUpClass(cls):
        cls.newer = newer(deb(), Path(cls.enterClassContext(tempfile.TemporaryDirectory())))

    def setUp(self):
        self.machine = self.enterContext(Machine(self.suite, self.packages))

    def is_there(self, path):
        return self.machine.exit_code(f"test -e {path}") == 0

    def daemon(self):
        """Its process id."""
        return self.machine.run("systemctl show --property MainPID --value plughost").strip()

    def kubelet(self, *options):
        """The stand-in kubelet, from its own package."""
        self.machine.install(standin_deb())
        kubelet = self.enterContext(self.machine.process("plughost-kubelet", "--stay", *options))
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
                     "/usr/share/plughost/plugins.d/fuse.yaml", "/usr/share/plughost/plughost.schema.json", "/usr/share/plughost/systemd/gpu.conf",
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

    def feed(self, kubelet):
        """The daemon feeds the kubelet and a pod."""
        (self.machine.shared / "config.yaml").write_text(CONFIG)
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && systemctl reload plughost")
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 10)
        kubelet.write("allocate example.com/token 2 pod-a")
        kubelet.wait_for_line("pod-a holds", 10)

    def upgraded(self, package, kubelet, words):
        """From a daemon that feeds the kubelet and a pod to this package, which goes on with both."""
        self.feed(kubelet)
        before, start = self.daemon(), kubelet.mark()
        shutil.copy(package, self.machine.shared / "next.deb")
        upgrade = self.machine.process("dpkg", "--force-confold", "--install", "/shared/next.deb")
        kubelet.wait_for_line("stream ended", 60, start)
        ended = time.monotonic()
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 60, start)
        gap = time.monotonic() - ended
        self.assertEqual(upgrade.wait(60), 0, upgrade.lines())
        print(f"\nupgrade: {gap * 1000:.0f} ms from the end of the old daemon's stream to the new one's list{words}, on {self.name}")
        self.assertLess(gap, LONGEST_GAP)
        self.assertNotEqual(self.daemon(), before)
        self.assertEqual(self.machine.run(f"cat {CONFFILE}"), CONFIG)
        kubelet.write("pods")
        kubelet.wait_for_line(lambda line: "pod-a" in line and "token" in line, 10, start)

    def test_an_upgrade_keeps_the_configuration_and_the_pods(self):
        self.machine.install(deb())
        self.upgraded(self.newer, self.kubelet(), "")

    def test_an_upgrade_beside_a_kubelet_of_1_37_has_no_gap_and_systemd_follows_the_new_process(self):
        self.machine.install(deb())
        self.machine.run(f"mkdir -p {PODS_API.rpartition('/')[0]}")
        kubelet = self.kubelet("--pods-api", PODS_API)
        self.feed(kubelet)
        before, start = self.daemon(), kubelet.mark()
        shutil.copy(self.newer, self.machine.shared / "next.deb")
        self.machine.run("dpkg --force-confold --install /shared/next.deb")
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 10, start)
        counts = [line for line in kubelet.lines(start) if "healthy" in line]
        self.assertEqual([line for line in counts if "4 healthy" not in line], [])
        after = self.daemon()
        self.assertNotEqual(after, before)
        self.assertFalse(self.is_there(f"/proc/{before}"))
        shown = self.machine.run("systemctl show --property ActiveState,NRestarts,StatusText plughost")
        for each in ("ActiveState=active", "NRestarts=0", "1 of 1 resource attached"):
            self.assertIn(each, shown)
        log = self.machine.run("journalctl --unit plughost --no-pager")
        self.assertIn("handed over to the successor", log)
        self.assertNotIn("reception only permitted", log)
        # The watchdog, an end and a restart are those of the new process.
        self.machine.run(f"kill -KILL {after}")
        until(lambda: self.daemon() not in ("0", after), 10, "systemd starts another", every=0.05)
        kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 10, kubelet.mark() - 1)
        self.machine.run("plughost upgrade && systemctl stop plughost")
        self.assertEqual(self.machine.exit_code("pgrep -x plughost"), 1)

    def test_an_upgrade_whose_new_program_fails_leaves_the_old_one_and_one_with_another_unit_restarts(self):
        self.machine.install(deb())
        self.machine.run(f"mkdir -p {PODS_API.rpartition('/')[0]}")
        kubelet = self.kubelet("--pods-api", PODS_API)
        self.feed(kubelet)
        before = self.daemon()
        shutil.copy(self.newer, self.machine.shared / "next.deb")
        self.machine.run(f"sed -i 's/count: 4/count: none/' {CONFFILE}")
        upgrade = self.machine.process("dpkg", "--force-confold", "--install", "/shared/next.deb")
        self.assertEqual(upgrade.wait(60), 0, upgrade.lines())
        self.assertTrue([line for line in upgrade.lines() if "not upgraded: the new plughost has ended" in line], upgrade.lines())
        self.assertEqual(self.daemon(), before)
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && plughost upgrade")
        after = self.daemon()
        self.machine.run("echo '# other settings' >>/usr/lib/systemd/system/plughost.service")
        self.machine.run("dpkg --force-confold --install /shared/next.deb")
        self.assertNotIn(self.daemon(), ("0", after))
        self.assertIn("stopping", self.machine.run("journalctl --unit plughost --no-pager"))

    @unittest.skipUnless("PLUGHOST_KUBELET" in os.environ, "not shown: ./dev package-test --kubelet VERSION upgrades beside Kubernetes' own device manager")
    def test_an_upgrade_beside_a_real_device_manager_that_is_asked_all_the_time_has_no_gap(self):
        self.machine.install(deb())
        kubelet = KubeletInMachine(self.machine, Path(os.environ["PLUGHOST_KUBELET"]))
        self.addCleanup(kubelet.kill)
        (self.machine.shared / "config.yaml").write_text(CONFIG)
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && systemctl reload plughost")
        token = "example.com/token"
        kubelet.until(lambda: kubelet.is_attached([token]), 10, "the first list")
        held = kubelet.ask(f"allocate {token} 2 pod-a")["allocations"]
        before = self.daemon()
        shutil.copy(self.newer, self.machine.shared / "next.deb")
        upgrade = self.enterContext(self.machine.process("dpkg", "--force-confold", "--install", "/shared/next.deb"))
        counts = []
        while upgrade.running() or len(kubelet.resources[token].connected) < 2:
            counts.append(kubelet.allocatable()[token])
            pod = f"pod-{len(counts)}"
            kubelet.ask(f"allocate {token} 2 {pod}")
            kubelet.ask(f"free {pod}")
        self.assertEqual(upgrade.wait(60), 0, upgrade.lines())
        print(f"\nupgrade: {len(counts)} times asked beside {os.environ['PLUGHOST_KUBELET']}, at least {min(counts)} of 4 devices, on {self.name}")
        self.assertEqual(set(counts), {4})
        self.assertNotEqual(self.daemon(), before)
        self.assertEqual(kubelet.ask(f"allocate {token} 2 pod-a")["allocations"], held)

    @unittest.skipUnless("PLUGHOST_FORMER_PACKAGE" in os.environ, "not shown: ./dev package-test --from COMMIT upgrades from a former package")
    def test_an_upgrade_from_a_former_package_keeps_the_configuration_and_the_pods(self):
        former = Path(os.environ["PLUGHOST_FORMER_PACKAGE"])
        shutil.copy(former, self.machine.shared / "former.deb")
        self.machine.run("dpkg --force-depends --install /shared/former.deb && mkdir /shared/libraries")
        # A machine has no mirror: what it was linked with is where it was built, which is here.
        for library in self.machine.run("ldd /usr/bin/plughost | sed -n 's/ => not found//p'").split():
            found = subprocess.run(["ldconfig", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
            shutil.copy(re.search(rf"{re.escape(library)} .*=> (\S+)", found).group(1), self.machine.shared / "libraries" / library)
        self.machine.run("cp /shared/libraries/* /usr/local/lib/; ldconfig; systemctl restart plughost")
        self.upgraded(deb(), self.kubelet(), ", from the former package")
        self.machine.run("plughost check && plughost status")
        self.assertEqual(self.machine.run("dpkg --audit"), "")
        self.machine.run("rm -f /usr/local/lib/*.so* && ldconfig && systemctl restart plughost && systemctl is-active plughost")
        self.machine.run("dpkg --purge plughost")
        self.assertFalse(self.is_there("/etc/plughost"))

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

    def test_what_setup_has_written_stays_in_an_upgrade_and_goes_with_the_package(self):
        self.machine.install(deb())
        (self.machine.shared / "config.yaml").write_text(SETUP_CONFIG)
        mine = Path(SETUP_DROP_IN).with_name("mine.conf")
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && plughost setup && printf '[Service]\nNice=1\n' >{mine}")
        self.machine.install(self.newer)
        self.assertTrue(self.is_there(SETUP_DROP_IN))
        self.machine.run("dpkg --remove plughost")
        self.assertFalse(self.is_there(SETUP_DROP_IN))
        self.assertTrue(self.is_there(mine))
        self.assertEqual(self.machine.run(f"cat {CONFFILE}"), SETUP_CONFIG)

    def test_a_package_goes_even_where_what_setup_has_written_cannot_be_taken_away(self):
        self.machine.install(deb())
        (self.machine.shared / "config.yaml").write_text(SETUP_CONFIG)
        self.machine.run(f"cp /shared/config.yaml {CONFFILE} && plughost setup")
        folder = Path(SETUP_DROP_IN).parent
        self.machine.run(f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}")
        self.assertIn("what 'plughost setup' has written stays", self.machine.run("dpkg --remove plughost"))
        self.assertFalse(self.is_there("/usr/bin/plughost"))

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


class OnANewNode(unittest.TestCase):
    """The first lines of the README, on a booted Debian that has nothing else, beside a stand-in kubelet."""

    def lines(self):
        block = re.search(r"^```sh\n(.*?)^```$", (REPOSITORY / "README.md").read_text(), re.M | re.S).group(1)
        *lines, last = block.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(last.startswith("kubectl get node"), last)  # there is no API server here: the kubelet itself says it
        return lines

    def first_resource(self, suite, name):
        machine = self.enterContext(Machine(suite, FEW_PACKAGES))
        tree = machine.shared / "tree"
        subprocess.run(["dpkg-deb", "--extract", standin_deb(), tree], check=True)
        shutil.copy(deb(), machine.shared)
        kubelet = self.enterContext(machine.process("/shared/tree/usr/bin/plughost-kubelet", "--stay"))
        kubelet.wait_for_line("listening on", 10)
        machine.run("cp /shared/*.deb /root && { test -e /dev/fuse || mknod /dev/fuse c 10 229; }")
        begin = time.monotonic()
        for line in self.lines():
            machine.run(f"cd /root && {line}")
        kubelet.wait_for_line("example.com/fuse: 20 devices, 20 healthy", LONGEST_START)
        took = time.monotonic() - begin
        print(f"\ninstall: {took:.1f} s from apt-get install to the kubelet's first resource, on {name}")
        self.assertLessEqual(took, LONGEST_START)

    def test_the_first_resource_is_there_within_a_minute_on_debian_12(self):
        self.first_resource("bookworm", "Debian 12")

    def test_the_first_resource_is_there_within_a_minute_on_debian_13(self):
        self.first_resource("trixie", "Debian 13")


class InDebian13(InDebian12):
    suite, packages, name = "trixie", FEW_PACKAGES, "Debian 13"

    def test_an_installed_package_runs_and_a_purged_one_is_gone(self):
        self.machine.install(deb())
        self.assertEqual(self.machine.run("systemctl is-enabled plughost; systemctl is-active plughost").split(), ["enabled", "active"])
        self.machine.run("plughost check && plughost status")
        self.machine.run("dpkg --purge plughost")
        self.assertNotEqual(self.machine.exit_code("test -e /usr/bin/plughost -o -e /etc/plughost"), 0)


if __name__ == "__main__":
    main()
