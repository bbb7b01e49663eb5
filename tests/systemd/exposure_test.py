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
        # Its program and its pages are not installed here.
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", UNIT], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        words = [line for line in done.stdout.splitlines() if "plughost" in line and "not executable" not in line]
        self.assertEqual(words, [])


if __name__ == "__main__":
    if not shutil.which("systemd-analyze"):
        print("not shown: there is no systemd-analyze here")
        sys.exit(77)
    unittest.main(verbosity=2)
