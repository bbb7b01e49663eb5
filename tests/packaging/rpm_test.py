#!/usr/bin/env python3
"""The rpm: what it asks for and has in it; and its scripts, by rpm in a machine that is booted: installed, upgraded, erased.

Usage: rpm_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.

Not shown: RHEL, Rocky, Alma and Fedora themselves: the machine is a Debian with rpm, whose packages rpm does not know (--nodeps).
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from elf import Program  # noqa: E402
from machine import Machine, main, rpm  # noqa: E402

CONFIG = "/etc/plughost/config.yaml"
SETUP_DROP_IN = "/etc/systemd/system/plughost.service.d/10-setup.conf"
BUILD = Path(__file__).resolve().parents[2] / "build/release"


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class File(unittest.TestCase):
    """What rpm reads in it."""

    def test_it_asks_for_a_c_library_from_2_34_on_and_for_nothing_that_no_distribution_has(self):
        asked = {line for line in said("rpm", "--query", "--requires", "--package", rpm()).splitlines() if not line.startswith("rpmlib(")}
        libraries = {line for line in asked if ".so" in line}
        self.assertIn("libudev.so.1()(64bit)", libraries)
        self.assertIn("libc.so.6(GLIBC_2.34)(64bit)", libraries)
        of_libc = {tuple(map(int, version)) for version in re.findall(r"GLIBC_(\d+)\.(\d+)", " ".join(libraries))}
        self.assertEqual(max(of_libc), (2, 34))
        self.assertLessEqual(asked - libraries, {"systemd", "/bin/sh", "rtld(GNU_HASH)", f"config(plughost) = {self.version()}"})

    def version(self):
        return said("rpm", "--query", "--queryformat", "%{VERSION}-%{RELEASE}", "--package", rpm())

    def test_no_directory_of_another_package_is_its_own(self):
        own = {line for line in said("rpm", "--query", "--list", "--package", rpm()).splitlines()
               if not Path(line).name.startswith("plughost") and "plughost/" not in line}
        self.assertEqual(own, {"/usr/lib/systemd/system-preset/90-plughost.preset", "/usr/share/zsh/site-functions/_plughost"})

    def test_everything_belongs_to_root_and_the_configuration_is_kept(self):
        for line in said("rpm", "--query", "--queryformat", "[%{FILENAMES} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEMODES:octal} "
                         "%{FILEFLAGS:fflags}\n]", "--package", rpm()).splitlines():
            path, user, group, mode, *flags = line.split(" ")
            self.assertEqual((user, group), ("root", "root"), path)
            self.assertEqual(int(mode, 8) & 0o022, 0, path)
            self.assertEqual(flags == ["cn"], path == CONFIG, line)

    def test_its_program_is_stripped_and_runs_on_every_distribution(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run(["cmake", "-E", "tar", "xf", rpm().resolve()], check=True, cwd=folder)
        program = folder / "usr/bin/plughost"
        self.assertEqual(Program(program).machine, {"x86_64": "amd64", "aarch64": "arm64"}[rpm().suffixes[-2][1:]])
        self.assertNotIn(".debug_", said("readelf", "--sections", "--wide", program))
        subprocess.run([Path(__file__).with_name("portable_test.py"), program], check=True, stderr=subprocess.PIPE)


class InAMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        subprocess.run(["cpack", "--config", "CPackConfig.cmake", "-G", "RPM", "-D", "CPACK_PACKAGE_VERSION=1000.0.0", "-B", folder],
                       check=True, cwd=BUILD, stdout=subprocess.PIPE)
        cls.newer = next(folder.glob("*.rpm"))

    def setUp(self):
        self.machine = self.enterContext(Machine())
        for package in (rpm(), self.newer):
            subprocess.run(["cp", package, self.machine.shared], check=True)

    def rpm(self, *options):
        return self.machine.run("rpm --nodeps " + " ".join(options))

    def state(self):
        return self.machine.run("systemctl is-active plughost; systemctl is-enabled plughost", check=False).split()

    def daemon(self):
        return self.machine.run("systemctl show --property MainPID --value plughost").strip()

    def test_it_is_enabled_and_started_upgraded_with_its_configuration_and_erased(self):
        self.rpm("--install", f"/shared/{rpm().name}")
        self.assertEqual(self.state(), ["active", "enabled"])
        self.machine.run(f"plughost check && getent group plughost && rpm --verify --nodeps plughost && echo '# mine' >>{CONFIG}")
        before = self.daemon()
        self.rpm("--upgrade", f"/shared/{self.newer.name}")
        self.assertEqual(self.state(), ["active", "enabled"])
        self.assertNotEqual(self.daemon(), before)
        self.assertIn("# mine", self.machine.run(f"cat {CONFIG}"))
        self.rpm("--erase", "plughost")
        self.assertNotIn("active", self.state())
        self.assertIn("# mine", self.machine.run(f"cat {CONFIG}.rpmsave"))
        self.assertEqual(self.machine.run("find /usr /etc/systemd -name '*plughost*'"), "")

    def test_what_setup_has_written_stays_in_an_upgrade_and_goes_with_the_package(self):
        self.rpm("--install", f"/shared/{rpm().name}")
        self.machine.run(f"echo 'listen: 0.0.0.0:9464' >>{CONFIG} && plughost setup && test -e {SETUP_DROP_IN}")
        self.rpm("--upgrade", f"/shared/{self.newer.name}")
        self.machine.run(f"test -e {SETUP_DROP_IN}")
        self.rpm("--erase", "plughost")
        self.machine.run(f"test ! -e {SETUP_DROP_IN}")

    def test_a_package_goes_even_where_what_setup_has_written_cannot_be_taken_away(self):
        self.rpm("--install", f"/shared/{rpm().name}")
        folder = Path(SETUP_DROP_IN).parent
        self.machine.run(f"echo 'listen: 0.0.0.0:9464' >>{CONFIG} && plughost setup && "
                         f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}")
        self.assertIn("what 'plughost setup' has written stays", self.rpm("--erase", "plughost"))
        self.machine.run("test ! -e /usr/bin/plughost")

    def test_what_an_administrator_has_disabled_stays_so(self):
        self.machine.run("mkdir -p /etc/systemd/system-preset && "
                         "echo 'disable plughost.service' >/etc/systemd/system-preset/10-mine.preset")
        self.rpm("--install", f"/shared/{rpm().name}")
        self.assertEqual(self.state(), ["inactive", "disabled"])
        self.machine.run("systemctl enable --now plughost && systemctl disable --now plughost")
        self.rpm("--upgrade", f"/shared/{self.newer.name}")
        self.assertEqual(self.state(), ["inactive", "disabled"])


if __name__ == "__main__":
    main()
