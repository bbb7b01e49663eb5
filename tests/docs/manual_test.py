#!/usr/bin/env python3
"""The manual's page has every command and every option of the program, and no other.

Usage: manual_test.py PLUGHOST PLUGHOST-KUBELET
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "packaging/man/plughost.1.md"


def help_of(*command, program=None):
    return subprocess.run([program or PLUGHOST, *command, "--help"], check=True, stdout=subprocess.PIPE, text=True).stdout


def commands():
    return re.findall(r"^  ([a-z]+) ", help_of().split("\nSubcommands:\n")[1].split("\n\n")[0], re.M)


def options(*command, program=None):
    """Those that the help shows, each spelling by itself; --help is everywhere."""
    found = set()
    for names in re.findall(r"^  (-\S+)", help_of(*command, program=program), re.M):
        found.update(names.split(","))
    return found - {"-h", "--help"}


def section(command):
    return PAGE.read_text().split(f"\n## plughost {command}\n")[1].split("\n## ")[0].split("\n# ")[0]


def documented(text):
    return {name for line in re.findall(r"^- (`-.*)$", text, re.M)
            for name in re.findall(r"`(-[-a-z]+)`", line.split(":")[0])} - {"-h", "--help"}


class Manual(unittest.TestCase):
    def test_the_page_has_every_command_and_no_other(self):
        self.assertGreater(len(commands()), 6)
        self.assertEqual(sorted(re.findall(r"^## plughost (\w+)$", PAGE.read_text(), re.M)), sorted(commands()))

    def test_the_page_has_every_option_of_each_command_and_no_other(self):
        for command in commands():
            with self.subTest(command):
                self.assertEqual(documented(section(command)), options(command))

    def test_each_command_s_help_has_an_example_with_options_that_it_has(self):
        for command in commands():
            with self.subTest(command):
                example = help_of(command).split("\nExample:\n  ")[1].splitlines()[0]
                self.assertIn(f"plughost {command}", example)
                given = set(re.findall(r" (--?[a-z][-a-z]*)", example.split(f"plughost {command}")[1]))
                self.assertLessEqual(given, options(command))

    def test_the_stand_in_s_page_has_every_option_and_no_other(self):
        page = (PAGE.parent / "plughost-kubelet.1.md").read_text()
        self.assertEqual(documented(page), options(program=STAND_IN))

    def test_the_stand_in_s_page_and_help_have_the_same_commands(self):
        page = (PAGE.parent / "plughost-kubelet.1.md").read_text().split("# OPTIONS")[0]
        listed = help_of(program=STAND_IN).split("standard input:\n")[1]
        found = re.findall(r"^  ([a-z]+) ", listed, re.M)
        self.assertIn("allocate", found)
        documented = [name for line in re.findall(r"^- (.*?)(?::|$)", page, re.M) for name in re.findall(r"`([a-z]+)`", line)]
        self.assertEqual(sorted(documented), sorted(found))

    def test_the_readme_has_every_command(self):
        text = (REPOSITORY / "README.md").read_text()
        for command in commands():
            self.assertIn(f"| `plughost {command}", text)


if __name__ == "__main__":
    PLUGHOST, STAND_IN = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    unittest.main(verbosity=2)
