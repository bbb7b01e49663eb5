#!/usr/bin/env python3
"""What systemd-analyze says of plughost.service and its drop-ins. Ends with 77 where there is no systemd-analyze."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SYSTEMD = Path(__file__).resolve().parents[2] / "systemd"
UNIT = SYSTEMD / "plughost.service"
MOST = 2.0
MOST_OPENED = 2.3
NODES = SYSTEMD.parent / "tests/nodes"
SETUP = "etc/systemd/system/plughost.service.d/10-setup.conf"


def words_of_setup(page):
    """The drop-in that setup would write, of what it prints; None: it writes none."""
    found = re.search(rf"^\+\+\+ b/{re.escape(SETUP)}\n@@.*\n((?:\+.*\n)+)", page.read_text(), re.M)
    return re.sub(r"^\+", "", found[1], flags=re.M) if found else None


def trouble(unit):
    """What systemd finds wrong with a unit whose programs and pages are not installed here."""
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return [line for line in done.stdout.splitlines()
            if ("plughost" in line or "10-setup" in line) and "not executable" not in line]


def exposure(drop_in=None):
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(shutil.copy(UNIT, folder))
        if drop_in:
            below = unit.with_name(unit.name + ".d")
            below.mkdir()
            shutil.copy(drop_in, below)
        words = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit], check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    return float(re.search(r"exposure level for \S+: ([\d.]+)", words)[1])


class Exposure(unittest.TestCase):
    def test_the_unit_is_as_closed_as_promised(self):
        self.assertLessEqual(exposure(), MOST)

    def test_each_drop_in_opens_what_the_page_says(self):
        page = (SYSTEMD.parent / "docs/security.md").read_text()
        scores = dict(re.findall(r"^\| `(\w+\.conf)` \|.*\| ([\d.]+) \|$", page, re.M))
        drop_ins = sorted(SYSTEMD.glob("drop-ins/*.conf"))
        self.assertEqual(sorted(scores), [drop_in.name for drop_in in drop_ins])
        for drop_in in drop_ins:
            with self.subTest(drop_in.name):
                self.assertEqual(exposure(drop_in), float(scores[drop_in.name]))

    def test_systemd_finds_nothing_wrong_with_the_unit(self):
        self.assertEqual(trouble(UNIT), [])

    def test_systemd_takes_what_setup_writes(self):
        drop_ins = {page.name: words_of_setup(page) for page in sorted(NODES.glob("*.out"))}
        drop_ins = {name: words for name, words in drop_ins.items() if words}
        self.assertGreater(len(drop_ins), 10)
        for name, words in drop_ins.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                drop_in = Path(folder) / "10-setup.conf"
                drop_in.write_text(words)
                self.assertLessEqual(exposure(drop_in), MOST_OPENED)
                unit = Path(shutil.copy(UNIT, folder))
                below = unit.with_name(unit.name + ".d")
                below.mkdir()
                drop_in.rename(below / drop_in.name)
                self.assertEqual(trouble(unit), [])


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("not shown: there is no systemd-analyze here")
        sys.exit(77)
    unittest.main(verbosity=2)
