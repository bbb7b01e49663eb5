#!/usr/bin/env python3
"""The tarball: install.sh verifies, installs, upgrades and removes, with no package manager.

Usage: tarball_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import hashlib
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from elf import Program  # noqa: E402
from machine import Machine, deb, main, tarball  # noqa: E402

CONFIG = "etc/plughost/config.yaml"


def rewrite_sums(tree):
    files = sorted(path for path in (tree / "files").rglob("*") if path.is_file())
    (tree / "SHA256SUMS").write_text("".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files))


class Tarball(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="plughost-tarball-")))
        subprocess.run(["tar", "--extract", "--directory", folder, "--file", tarball()], check=True)
        self.tree, = folder.iterdir()


class InADirectory(Tarball):
    """As for a machine that is not started."""

    def setUp(self):
        super().setUp()
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="plughost-root-")))

    def install(self, *options):
        return subprocess.run([self.tree / "install.sh", "--root", self.root, *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def files(self):
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir()}

    def assertDone(self, done):
        self.assertEqual(done.returncode, 0, done.stdout)

    def assertRefused(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(words, done.stdout)

    def test_it_is_named_by_its_version_and_architecture(self):
        program = Program(self.tree / "files/usr/bin/plughost")
        self.assertRegex(self.tree.name, rf"^plughost-\d+\.\d+\.\d+-linux-{program.machine}$")

    def test_what_it_installs_is_what_the_release_has(self):
        self.assertDone(self.install())
        shipped = {str(path.relative_to(self.tree / "files")) for path in (self.tree / "files").rglob("*") if path.is_file()}
        self.assertEqual(self.files(), shipped | {"usr/share/plughost/SHA256SUMS"})
        self.assertTrue((self.root / "etc/plughost/plugins.d").is_dir())
        self.assertEqual((self.root / "usr/bin/plughost").stat().st_mode & 0o7777, 0o755)
        self.assertEqual((self.root / CONFIG).stat().st_mode & 0o7777, 0o644)

    def test_a_file_that_was_changed_or_is_missing_or_new_is_refused_and_nothing_is_installed(self):
        service = self.tree / "files/usr/lib/systemd/system/plughost.service"
        text = service.read_text()
        service.write_text(text + "#")
        self.assertRefused(self.install(), "not those of the release")
        service.unlink()
        self.assertRefused(self.install(), "not those of the release")
        service.write_text(text)
        (self.tree / "files/usr/bin/another").write_text("")
        self.assertRefused(self.install(), "files that the release does not have")
        self.assertEqual(self.files(), set())

    def test_an_upgrade_keeps_the_configuration_and_takes_away_what_the_new_version_has_not(self):
        self.assertDone(self.install())
        (self.root / CONFIG).write_text("mine")
        preset = self.tree / "files/usr/share/plughost/plugins.d/fuse.yaml"
        preset.unlink()
        (self.tree / "files" / CONFIG).write_text("theirs")
        (self.tree / "files/usr/share/plughost/new").write_text("")
        rewrite_sums(self.tree)
        self.assertDone(self.install())
        self.assertEqual((self.root / CONFIG).read_text(), "mine")
        self.assertNotIn("usr/share/plughost/plugins.d/fuse.yaml", self.files())
        self.assertIn("usr/share/plughost/new", self.files())

    def test_remove_leaves_what_is_the_administrator_s_and_purge_what_others_have_put_there(self):
        self.assertDone(self.install())
        (self.root / "etc/plughost/plugins.d/mine.yaml").write_text("")
        (self.root / "usr/bin/another").write_text("")
        (self.root / "var/lib/plughost").mkdir(parents=True)
        (self.root / "var/lib/plughost/drains").write_text("")
        self.assertDone(self.install("--remove"))
        others = {"etc/plughost/plugins.d/mine.yaml", "usr/bin/another"}
        self.assertEqual(self.files(), others | {CONFIG, "var/lib/plughost/drains"})
        self.assertFalse((self.root / "usr/share/plughost").exists())
        self.assertRefused(self.install("--remove"), "was not installed by this")
        self.assertDone(self.install())
        self.assertDone(self.install("--purge"))
        self.assertEqual(self.files(), others)

    def test_what_setup_has_written_goes_with_the_program_and_what_cannot_be_taken_away_stays(self):
        self.assertDone(self.install())
        (self.root / CONFIG).write_text("resources: []\nlisten: 0.0.0.0:9464\n")
        drop_in = self.root / "etc/systemd/system/plughost.service.d/10-setup.conf"
        setup = [self.root / "usr/bin/plughost", "setup", "--root", self.root]
        (self.root / "usr/lib/systemd/systemd").write_text("")
        subprocess.run(setup, check=True, stdout=subprocess.PIPE)
        self.assertTrue(drop_in.exists())
        self.assertDone(self.install("--remove"))
        self.assertFalse(drop_in.exists())

        self.assertDone(self.install())
        subprocess.run(setup, check=True, stdout=subprocess.PIPE)
        (self.root / "usr/bin/plughost").write_text("#!/bin/sh\nexit 1\n")
        done = self.install("--remove")
        self.assertDone(done)
        self.assertIn("what 'plughost setup' has written stays", done.stdout)
        self.assertTrue(drop_in.exists())
        self.assertFalse((self.root / "usr/bin/plughost").exists())

    def test_a_plughost_that_something_else_has_installed_is_left_alone(self):
        (self.root / "usr/bin").mkdir(parents=True)
        (self.root / "usr/bin/plughost").write_text("of a package")
        self.assertRefused(self.install(), "remove its package first")
        self.assertEqual(self.files(), {"usr/bin/plughost"})


class InADebian(Tarball):
    def setUp(self):
        super().setUp()
        self.machine = self.enterContext(Machine())
        subprocess.run(["cp", "--recursive", self.tree, self.machine.shared / "plughost"], check=True)

    def state(self):
        return self.machine.run("systemctl is-active plughost; systemctl is-enabled plughost", check=False).split()

    def test_it_is_installed_and_started_upgraded_and_removed(self):
        links = self.machine.run("readlink /bin /lib /sbin")
        self.machine.run("/shared/plughost/install.sh && plughost check && getent group plughost")
        self.assertEqual(self.state(), ["active", "enabled"])
        self.assertEqual(self.machine.run("readlink /bin /lib /sbin"), links)
        first = self.machine.run("systemctl show --property MainPID --value plughost")
        self.machine.run("/shared/plughost/install.sh")
        self.assertEqual(self.state(), ["active", "enabled"])
        self.assertNotEqual(self.machine.run("systemctl show --property MainPID --value plughost"), first)
        self.machine.run("/shared/plughost/install.sh --purge")
        self.assertNotIn("active", self.state())
        self.assertEqual(self.machine.run("find /usr /etc /var/lib -name '*plughost*'"), "")

    def test_one_that_was_stopped_and_disabled_stays_so_in_an_upgrade(self):
        self.machine.run("/shared/plughost/install.sh && systemctl disable --now plughost && /shared/plughost/install.sh")
        self.assertEqual(self.state(), ["inactive", "disabled"])

    def test_one_beside_the_package_is_refused(self):
        self.machine.install(deb())
        code, words = self.machine.outcome("/shared/plughost/install.sh")
        self.assertEqual(code, 1, words)
        self.assertIn("remove its package first", words)


if __name__ == "__main__":
    main()
